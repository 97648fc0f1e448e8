#include "espalier/verify/compare.hpp"

#include "espalier/verify/degree.hpp"
#include "espalier/verify/sampling.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

namespace espalier::verify {
namespace {

using program::Graph;
using program::Shape;

constexpr int max_redraws = 4;

std::vector<Shape> output_shapes(Graph const& graph) {
    auto const tensors = infer(graph);
    std::vector<Shape> out;
    for (auto const id : graph.outputs) out.push_back(tensors[static_cast<std::size_t>(id)].shape);
    return out;
}

std::uint64_t seed_of(std::uint64_t seed, int test, int redraw) {
    return field::mix(seed + 0x9E3779B97F4A7C15ull * static_cast<std::uint64_t>(test * (max_redraws + 1) + redraw + 1));
}

/// The first element that differs, where both have the part.
std::optional<std::size_t> first_difference(Tiles const& a, Tiles const& b) {
    auto const in_p = std::ranges::mismatch(a.p, b.p).in1 - a.p.begin();
    auto const in_q = a.has_q && b.has_q ? std::ranges::mismatch(a.q, b.q).in1 - a.q.begin() : std::ssize(a.p);
    auto const first = std::min(in_p, in_q);
    if (first == std::ssize(a.p)) return std::nullopt;
    return static_cast<std::size_t>(first);
}

/// Where the outputs differ first; empty if they do not.
std::string difference(Evaluation const& a, Evaluation const& b, int test) {
    for (std::size_t i = 0; i < a.outputs.size(); ++i)
        if (auto const at = first_difference(a.outputs[i], b.outputs[i]))
            return fmt::format("test {}: output {} differs at compared element {} of {}", test + 1, i, *at,
                               a.outputs[i].p.size());
    return {};
}

std::string why_undecided(OpStatus status) {
    return status == OpStatus::no_exponent ? "an exponential of an exponential cannot be evaluated"
                                           : fmt::format("{} draws divide by zero", max_redraws + 1);
}

} // namespace

/// Compiled again only when other elements are demanded.
class Reference::CompiledCandidate {
public:
    CompiledCandidate(Graph const& graph, Exponents exponents, DeviceService* device)
        : graph_(graph), exponents_(exponents), device_(device) {}
    [[nodiscard]] Exponents exponents() const { return exponents_; }
    [[nodiscard]] Evaluation evaluate(std::vector<Demand> const& demands, Draw const& draw) {
        if (!tape_ || demands != demands_) {
            demands_ = demands;
            tape_ = compile(graph_, demands_, exponents_);
        }
        if (!device_) return run(*tape_, draw);
        DeviceJob const job{&*tape_, draw};
        return device_->submit({&job, 1}).front();
    }

private:
    Graph const& graph_;
    Exponents exponents_;
    DeviceService* device_;
    std::vector<Demand> demands_;
    std::optional<Tape> tape_;
};

Reference::Reference(Graph graph, CompareOptions const& options)
    : graph_(std::move(graph)), options_(options), shapes_(output_shapes(graph_)) {
    ESP_EXPECT(options.tests > 0);
}

Reference::Sample const& Reference::sample_of(Key const& key) const {
    std::lock_guard const lock(mutex_);
    auto const found = samples_.find(key);
    return found != samples_.end() ? found->second : samples_.emplace(key, make_sample(key)).first->second;
}

Reference::Sample Reference::make_sample(Key const& key) const {
    Sample out;
    out.draw = {seed_of(options_.seed, key.test, key.redraw), options_.roots, key.exponents};
    for (auto const& shape : shapes_)
        out.demands.push_back(sample(shape, options_.max_elements, field::mix(out.draw.seed + out.demands.size())));
    out.values = evaluate(graph_, out.draw, out.demands);
    return out;
}

std::string Reference::mismatch(Graph const& candidate) const {
    if (!std::ranges::equal(graph_.inputs, candidate.inputs, {}, &program::Input::shape, &program::Input::shape))
        return "the inputs have other shapes";
    if (!std::ranges::equal(shapes_, output_shapes(candidate))) return "the outputs have other shapes";
    return {};
}

Comparison Reference::compare(Graph const& candidate) const {
    if (auto reason = mismatch(candidate); !reason.empty()) return {Verdict::different, 0, 0, 0, std::move(reason)};
    auto const has_exp = has_exponential(graph_) || has_exponential(candidate);
    CompiledCandidate compiled(candidate, has_exp ? Exponents::always : Exponents::if_needed, options_.device);
    Comparison out;
    while (out.tests < options_.tests) {
        auto const [sample, values] = draw(out.tests, compiled);
        if (values.status != OpStatus::done) {
            out.reason = why_undecided(values.status);
            return out;
        }
        out.elements = elements_of(sample->demands);
        if (auto reason = difference(sample->values, values, out.tests++); !reason.empty())
            return {Verdict::different, out.tests, out.elements, 0, std::move(reason)};
    }
    out.verdict = Verdict::equal;
    out.error_bound = std::pow(error_bound(graph_, candidate, options_.roots), out.tests);
    out.reason = fmt::format("equal in {} random tests of {} elements", out.tests, out.elements);
    return out;
}

std::pair<Reference::Sample const*, Evaluation> Reference::draw(int test, CompiledCandidate& candidate) const {
    for (int redraw = 0;; ++redraw) {
        auto const& sample = sample_of({test, redraw, candidate.exponents()});
        auto values =
            sample.values.status == OpStatus::done ? candidate.evaluate(sample.demands, sample.draw) : sample.values;
        if (values.status != OpStatus::zero_divisor || redraw == max_redraws) return {&sample, std::move(values)};
    }
}

std::int64_t Reference::elements_of(std::vector<Demand> const& demands) const {
    std::int64_t count = 0;
    for (std::size_t i = 0; i < shapes_.size(); ++i) count += element_count(demands[i], shapes_[i]);
    return count;
}

Comparison compare(Graph const& reference, Graph const& candidate, CompareOptions const& options) {
    return Reference(reference, options).compare(candidate);
}

} // namespace espalier::verify
