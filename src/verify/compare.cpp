#include "espalier/verify/compare.hpp"

#include "espalier/verify/degree.hpp"
#include "espalier/verify/sampling.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <optional>

namespace espalier::verify {
namespace {

using program::Graph;
using program::Shape;

constexpr int max_redraws = 4;

std::vector<Shape> output_shapes(Graph const& graph) {
    auto const tensors = infer(graph);
    std::vector<Shape> out;
    for (auto const id : graph.outputs) out.push_back(tensors[id].shape);
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

/// One candidate on its way through the tests: says what is to be evaluated next and takes the values, until it is
/// decided. The tape that job() names lives as long as the trial and stays until the next take().
class Reference::Trial {
public:
    Trial(Reference const& reference, Graph const& candidate, base::StopToken stop)
        : reference_(reference), candidate_(candidate), stop_(stop) {
        if (auto reason = reference.mismatch(candidate); !reason.empty())
            close({Verdict::different, 0, 0, 0, std::move(reason)});
        auto const has_exp = has_exponential(reference.graph_) || has_exponential(candidate);
        exponents_ = has_exp ? Exponents::always : Exponents::if_needed;
        find_draw();
    }
    [[nodiscard]] bool is_open() const { return is_open_; }
    [[nodiscard]] Comparison const& outcome() const { return outcome_; }

    /// Compiled again only when other elements are demanded.
    [[nodiscard]] DeviceJob job() {
        if (!tape_ || sample_->demands != demands_) {
            demands_ = sample_->demands;
            tape_ = compile(candidate_, demands_, exponents_);
        }
        return {&*tape_, sample_->draw};
    }
    void take(Evaluation const& values) {
        if (!can_use(values.status)) return find_draw();
        outcome_.elements = reference_.elements_of(sample_->demands);
        auto reason = difference(sample_->values, values, outcome_.tests++);
        if (!reason.empty())
            return close({Verdict::different, outcome_.tests, outcome_.elements, 0, std::move(reason)});
        redraw_ = 0;
        if (outcome_.tests < reference_.options_.tests) return find_draw();
        accept();
    }

private:
    /// The next draw on which the reference itself divides by no zero.
    void find_draw() {
        while (is_open_) {
            sample_ = &reference_.sample_of({outcome_.tests, redraw_, exponents_}, stop_);
            if (can_use(sample_->values.status)) return;
        }
    }
    /// If not, another draw is due, or the trial is over.
    [[nodiscard]] bool can_use(OpStatus status) {
        if (status == OpStatus::done) return true;
        if (status == OpStatus::zero_divisor && redraw_ < max_redraws) {
            ++redraw_;
            return false;
        }
        outcome_.reason = why_undecided(status);
        is_open_ = false;
        return false;
    }
    void accept() {
        auto const& options = reference_.options_;
        auto out = outcome_;
        out.verdict = Verdict::equal;
        out.error_bound = std::pow(error_bound(reference_.graph_, candidate_, options.roots), out.tests);
        out.reason = fmt::format("equal in {} random tests of {} elements", out.tests, out.elements);
        close(std::move(out));
    }
    void close(Comparison outcome) {
        outcome_ = std::move(outcome);
        is_open_ = false;
    }

    Reference const& reference_;
    Graph const& candidate_;
    base::StopToken stop_;
    Exponents exponents_{};
    Sample const* sample_ = nullptr;
    int redraw_ = 0; ///< of this test
    std::vector<Demand> demands_;
    std::optional<Tape> tape_;
    Comparison outcome_;
    bool is_open_ = true;
};

Reference::Reference(Graph graph, CompareOptions const& options)
    : graph_(std::move(graph)), options_(options), shapes_(output_shapes(graph_)) {
    ESP_EXPECT(options.tests > 0);
}

Reference::Sample const& Reference::sample_of(Key const& key, base::StopToken stop) const {
    std::lock_guard const lock(mutex_);
    auto const found = samples_.find(key);
    return found != samples_.end() ? found->second : samples_.emplace(key, make_sample(key, stop)).first->second;
}

Reference::Sample Reference::make_sample(Key const& key, base::StopToken stop) const {
    Sample out;
    out.draw = {seed_of(options_.seed, key.test, key.redraw), options_.roots, key.exponents};
    for (auto const& shape : shapes_)
        out.demands.push_back(sample(shape, options_.max_elements, field::mix(out.draw.seed + out.demands.size())));
    out.values = evaluate(graph_, out.draw, out.demands, stop);
    return out;
}

std::string Reference::mismatch(Graph const& candidate) const {
    if (!std::ranges::equal(graph_.inputs, candidate.inputs, {}, &program::Input::shape, &program::Input::shape))
        return "the inputs have other shapes";
    if (!std::ranges::equal(shapes_, output_shapes(candidate))) return "the outputs have other shapes";
    return {};
}

Comparison Reference::compare(Graph const& candidate, base::StopToken stop) const {
    auto const* one = &candidate;
    if (options_.device) return compare_all({&one, 1}, stop).front();
    Trial trial(*this, candidate, stop);
    while (trial.is_open()) {
        auto const job = trial.job();
        trial.take(run(*job.tape, job.draw, stop));
    }
    return trial.outcome();
}

std::vector<Comparison> Reference::compare_all(std::span<Graph const* const> candidates, base::StopToken stop) const {
    std::vector<Pairing> pairings;
    for (auto const* candidate : candidates) pairings.push_back({this, candidate});
    return compare_all(pairings, stop);
}

std::vector<Comparison> Reference::compare_all(std::span<Pairing const> pairings, base::StopToken stop) {
    std::vector<Comparison> out;
    auto* const device = pairings.empty() ? nullptr : pairings.front().reference->options_.device;
    if (!device) {
        for (auto const& [reference, candidate] : pairings) out.push_back(reference->compare(*candidate, stop));
        return out;
    }
    std::deque<Trial> trials; // they do not move: jobs refer to their tapes
    for (auto const& [reference, candidate] : pairings) trials.emplace_back(*reference, *candidate, stop);
    while (take_round(trials, *device)) stop.check();
    for (auto const& trial : trials) out.push_back(trial.outcome());
    return out;
}

/// The next test of every trial that is open, in one submission. False if none is.
bool Reference::take_round(std::deque<Trial>& trials, DeviceService& device) {
    std::vector<DeviceJob> jobs;
    std::vector<Trial*> open;
    for (auto& trial : trials) {
        if (!trial.is_open()) continue;
        open.push_back(&trial);
        jobs.push_back(trial.job());
    }
    if (open.empty()) return false;
    auto const values = device.submit(jobs);
    for (std::size_t i = 0; i < open.size(); ++i) open[i]->take(values[i]);
    return true;
}

std::int64_t Reference::elements_of(std::vector<Demand> const& demands) const {
    std::int64_t count = 0;
    for (std::size_t i = 0; i < shapes_.size(); ++i) count += element_count(demands[i], shapes_[i]);
    return count;
}

Comparison compare(Graph const& reference, Graph const& candidate, CompareOptions const& options,
                   base::StopToken stop) {
    return Reference(reference, options).compare(candidate, stop);
}

} // namespace espalier::verify
