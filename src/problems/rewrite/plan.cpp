#include "espalier/problems/rewrite/plan.hpp"

#include "espalier/base/error.hpp"
#include "espalier/base/hash.hpp"
#include "espalier/base/key_error.hpp"
#include "espalier/base/rng.hpp"
#include "espalier/model/onnx.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <numeric>

namespace espalier::problems::rewrite {
namespace {

namespace library = substitution::library;

std::string text_of(std::string const& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file)
        throw base::KeyError("problem.rules",
                             path + " cannot be read: name a file that `espalier show RUN --format rules` wrote");
    return {std::istreambuf_iterator<char>(file), {}};
}

library::Library library_of(RewriteConfig const& config) {
    if (config.rules.empty()) return substitution::default_library();
    auto const text = text_of(config.rules);
    try {
        return library::parse_library(text);
    } catch (base::InputError const& error) {
        throw base::KeyError("problem.rules", fmt::format("{}: {}", config.rules, error.what()));
    }
}

/// Throws KeyError if a file is not the one with which the run began.
RewriteConfig const& unchanged(RewriteConfig const& config) {
    auto const check = [](char const* key, std::string const& path, std::string const& digest) {
        if (!digest.empty() && !path.empty() && digest_of(path) != digest)
            throw base::KeyError(key, path + " was changed since the run began: bring the file back, or begin another "
                                             "run with --force");
    };
    check("problem.model", config.model, config.digest);
    check("problem.rules", config.rules, config.rules_digest);
    return config;
}

// What the estimate is made of: a core of a machine as they are, so that graphs are put in some order. What is chosen
// is measured where there is a back end.
constexpr double flops_per_ms = 50e6;
constexpr double bytes_per_ms = 10e6;
constexpr double ms_per_op = 0.005;
constexpr double lanes = 16; ///< channels that are multiplied at once, whether there are so many or not

std::int64_t groups_of(Operation const& op) {
    auto const found = op.kernel->attributes.find("group");
    auto const* const groups =
        found == op.kernel->attributes.end() ? nullptr : std::get_if<std::int64_t>(&found->second);
    return groups != nullptr ? *groups : 1;
}
/// How much longer a convolution of narrow groups takes than its products do; one for each channel is a case of its
/// own.
double narrowness(Graph const& graph, Operation const& op) {
    if (op.kernel->op != "Conv" || groups_of(op) == 1) return 1;
    auto const& weights = graph.dims(op.in[1]);
    auto const made = static_cast<double>(weights[0]) / static_cast<double>(groups_of(op));
    if (weights[1] == 1) return 4;
    return std::ceil(made / lanes) * lanes / made;
}

model::Array normal(model::Known const& type, base::Rng& rng, double scale) {
    model::Array array{.element = type.element, .dims = type.dims};
    auto const count = static_cast<std::size_t>(model::element_count(type.dims));
    if (!model::is_real(type.element)) {
        array.wholes.assign(count, 0);
        return array;
    }
    array.reals.resize(count);
    auto const uniform = [&] { return (static_cast<double>(rng() >> 11) + 0.5) * 0x1p-53; };
    for (auto& x : array.reals)
        x = scale * std::sqrt(-2 * std::log(uniform())) * std::cos(6.283185307179586 * uniform());
    return array;
}

/// Constants as a file has them.
Graph with_rounded_weights(Graph graph) {
    for (auto& value : graph.values)
        if (value.constant && !value.constant->tensor && !value.constant->array.reals.empty()) {
            auto const tensor = std::make_shared<model::Tensor const>(model::to_tensor(value.constant->array));
            value.constant = make_constant(model::to_array(*tensor), tensor);
        }
    return graph;
}

struct Difference {
    double most = 0;
    std::string problem;
};
Difference difference(model::Arrays const& before, model::Arrays const& after) {
    Difference out;
    for (auto const& [name, one] : before) {
        auto const& other = after.at(name);
        if (one.dims != other.dims || one.element != other.element) return {0, "an output has another shape"};
        if (one.wholes != other.wholes) return {0, "whole numbers differ"};
        double largest = 0, apart = 0;
        for (std::size_t i = 0; i < one.reals.size(); ++i) {
            if (!std::isfinite(one.reals[i])) continue;
            if (!std::isfinite(other.reals[i])) return {0, "not finite where the input model is"};
            largest = std::max(largest, std::abs(one.reals[i]));
            apart = std::max(apart, std::abs(one.reals[i] - other.reals[i]));
        }
        if (apart > 0) out.most = std::max(out.most, apart / std::max(largest, 1e-30));
    }
    return out;
}

} // namespace

std::string digest_of(std::string const& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) throw base::InputError("{}: cannot be read", path);
    std::string const text{std::istreambuf_iterator<char>(file), {}};
    return fmt::format("{:016x}", base::hash_text(text));
}

Plan::Plan(RewriteConfig const& config)
    : config_(unchanged(config)), model_(model::read_onnx(config.model)),
      cut_(cut(model_, {.sizes = config.sizes, .most_ops = static_cast<std::size_t>(config.part)})),
      rules_(std::make_shared<Rules const>(library_of(config), Rules::Options{config.unproved})) {
    std::map<std::uint64_t, std::size_t> known;
    for (std::size_t i = 0; i < cut_.parts.size(); ++i) {
        auto const [place, is_new] = known.emplace(cut_.parts[i].structure, families_.size());
        if (is_new) families_.emplace_back();
        families_[place->second].push_back(i);
    }
}

void Plan::for_each_child(Graph const& graph, Folder& folder,
                          std::function<void(Use const&, Graph)> const& visit) const {
    Uses const uses(graph);
    for (std::size_t op = 0; op < graph.ops.size(); ++op)
        for (auto const pattern : rules_->of_op(graph.ops[op].kernel->op)) {
            std::uint16_t match = 0;
            find(rules_->patterns()[pattern], graph, uses, static_cast<std::int32_t>(op), [&](Match const& found) {
                auto made = applied(rules_->patterns()[pattern], found, graph, folder);
                Use const use{static_cast<std::uint32_t>(pattern), static_cast<std::uint16_t>(op), match++};
                if (made) visit(use, std::move(*made));
            });
        }
}

std::optional<Graph> Plan::follow(Graph const& graph, Path const& path, Folder& folder) const {
    std::optional<Graph> now = graph;
    for (auto const& use : path) {
        if (use.pattern >= rules_->patterns().size() || use.op >= now->ops.size()) return std::nullopt;
        auto const& pattern = rules_->patterns()[use.pattern];
        std::uint16_t match = 0;
        std::optional<Graph> next;
        find(pattern, *now, Uses(*now), use.op, [&](Match const& found) {
            if (match++ == use.match) next = applied(pattern, found, *now, folder);
        });
        if (!next) return std::nullopt;
        now = std::move(next);
    }
    return now;
}

double Plan::estimated_ms(Graph const& graph) const {
    auto const part = to_model(graph);
    auto const facts = model::infer(part);
    double out = 0;
    for (std::size_t i = 0; i < graph.ops.size(); ++i) {
        auto const work = model::work_of(part.nodes[i], part, facts);
        if (!work) continue;
        auto const computing = work->flops / flops_per_ms * narrowness(graph, graph.ops[i]);
        auto const moving = (work->bytes_read + work->bytes_written) / bytes_per_ms;
        out += ms_per_op + std::max(computing, moving);
    }
    return out;
}

double Plan::input_estimate() const {
    double out = 0;
    for (auto const& family : families_)
        out += static_cast<double>(family.size()) * estimated_ms(cut_.parts[family.front()].graph);
    return out;
}

Plan::Whole Plan::whole(std::vector<Choice> const& choices, Folder& folder, WholeOptions const& options,
                        base::StopToken const& stop) const {
    Whole out{.estimated_ms = input_estimate()};
    std::vector<Graph> graphs;
    graphs.reserve(cut_.parts.size());
    std::vector<Graph const*> instead(cut_.parts.size(), nullptr);
    for (auto const& choice : choices)
        for (auto const part : families_.at(choice.family)) {
            stop.check();
            auto const& before = cut_.parts[part].graph;
            auto made = follow(before, choice.path, folder);
            if (!made) continue; // its weights do not meet the condition of a rule: it stays as it is
            auto rounded = with_rounded_weights(*made);
            if (options.is_checked) {
                auto const exact = compare(before, *made, {.seed = options.seed}, stop);
                out.problem = exact.problem;
                if (!exact.is_equal) return out;
                auto const told = compare(before, rounded, {.seed = options.seed, .tolerance = 1}, stop);
                out.error = std::max(out.error, told.error);
            }
            out.estimated_ms += estimated_ms(rounded) - estimated_ms(before);
            out.rewrites += choice.path.size();
            ++out.parts;
            graphs.push_back(std::move(rounded));
            instead[part] = &graphs.back();
        }
    out.model = out.parts == 0 ? model_ : assembled(model_, cut_.parts, instead);
    return out;
}

Comparison compare(Graph const& before, Graph const& after, CompareOptions const& options,
                   base::StopToken const& stop) {
    auto const a = to_model(before), b = to_model(after);
    Comparison out{.is_equal = true};
    base::Rng rng{base::Seed{options.seed}};
    for (double const scale : {1.0, 8.0}) {
        model::Arrays inputs;
        for (std::size_t i = 0; i < before.inputs.size(); ++i)
            inputs[fmt::format("x{}", i)] = normal(before.value(before.inputs[i]).type, rng, scale);
        auto const found = difference(model::evaluate(a, inputs, stop), model::evaluate(b, inputs, stop));
        out.error = std::max(out.error, found.most);
        if (out.problem.empty()) out.problem = found.problem;
    }
    if (out.problem.empty() && out.error > options.tolerance)
        out.problem = fmt::format("differs by {:.1e} in float64", out.error);
    out.is_equal = out.problem.empty();
    return out;
}

std::map<std::string, model::Tensor> random_inputs(model::Model const& model, model::Facts const& facts,
                                                   std::uint64_t seed) {
    std::map<std::string, model::Tensor> out;
    base::Rng rng{base::Seed{seed}};
    for (auto const& input : model.inputs) {
        auto const type = facts.types.find(input.name);
        if (type == facts.types.end())
            throw base::InputError("the model's input `{}` has no type that could be filled with numbers: give its "
                                   "dimensions sizes with problem.sizes",
                                   input.name);
        out[input.name] = model::to_tensor(normal(type->second, rng, 1));
    }
    return out;
}

} // namespace espalier::problems::rewrite
