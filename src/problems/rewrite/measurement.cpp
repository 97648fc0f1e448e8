#include "measurement.hpp"

#include "backend.hpp"

#include "espalier/base/scratch_folder.hpp"
#include "espalier/model/onnx.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

namespace espalier::problems::rewrite {
namespace {

constexpr double limit_seconds = 300;      ///< of one process of the back end
constexpr double least_noise = 0.01;       ///< what nobody measures better on a shared machine
constexpr double backend_tolerance = 2e-2; ///< of outputs in f32, relative to the largest value; f16 is coarser still

double median(std::vector<double> list) {
    std::ranges::sort(list);
    auto const middle = list.size() / 2;
    return list.size() % 2 == 1 ? list[middle] : (list[middle - 1] + list[middle]) / 2;
}

/// Two models in turns.
struct Duel {
    std::vector<double> before, after; ///< a median for each process
    Tensors outputs_before, outputs_after;
    std::string backend;
    std::string problem;
};

/// False if it failed, which is told.
bool run_once(Backend const& backend, std::string const& model, Tensors const& inputs, base::StopToken const& stop,
              std::vector<double>& times, Tensors& outputs, Duel& duel) {
    auto outcome = backend.run(model, inputs, limit_seconds, stop);
    if (auto const* const failure = std::get_if<BackendFailure>(&outcome)) {
        duel.problem = failure->reason;
        return false;
    }
    auto& run = std::get<BackendRun>(outcome);
    times.push_back(run.median_ms());
    outputs = std::move(run.outputs);
    duel.backend = run.backend.empty() ? backend.command() : run.backend;
    return true;
}

Duel fight(RewriteConfig const& config, model::Model const& before, model::Model const& after, Tensors const& inputs,
           int rounds, base::StopToken const& stop) {
    Backend const backend(config.backend, config.threads);
    base::ScratchFolder const folder;
    auto const a = (folder / "before.onnx").string(), b = (folder / "after.onnx").string();
    model::write_onnx(before, a);
    model::write_onnx(after, b);
    Duel out;
    auto const first = [&] { return run_once(backend, a, inputs, stop, out.before, out.outputs_before, out); };
    auto const second = [&] { return run_once(backend, b, inputs, stop, out.after, out.outputs_after, out); };
    for (int i = 0; i < rounds && out.problem.empty(); ++i)
        static_cast<void>(i % 2 == 0 ? first() && second() : second() && first());
    return out;
}

/// Half of the width of what is known about the ratio.
double noise_of(Duel const& duel) {
    auto const spread = [](std::vector<double> const& list) {
        auto const [least, most] = std::ranges::minmax(list);
        return (most - least) / 2 / median(list);
    };
    return std::max(least_noise, spread(duel.before) + spread(duel.after));
}

double largest_difference(Tensors const& before, Tensors const& after) {
    double out = 0;
    for (auto const& [name, tensor] : before) {
        auto const other = after.find(name);
        if (other == after.end() || other->second.dims != tensor.dims || other->second.element != tensor.element)
            return HUGE_VAL;
        auto const a = model::to_array(tensor), b = model::to_array(other->second);
        if (a.wholes != b.wholes) return HUGE_VAL;
        double most = 0, apart = 0;
        for (std::size_t i = 0; i < a.reals.size(); ++i) {
            if (!std::isfinite(a.reals[i])) continue;
            if (!std::isfinite(b.reals[i])) return HUGE_VAL;
            most = std::max(most, std::abs(a.reals[i]));
            apart = std::max(apart, std::abs(a.reals[i] - b.reals[i]));
        }
        if (apart > 0) out = std::max(out, apart / std::max(most, 1e-30));
    }
    return out;
}

std::string ops_of(std::vector<Step> const& steps, bool is_backwards) {
    std::vector<std::string> names;
    for (auto const& step : steps) names.emplace_back(name_of(*step.op));
    if (is_backwards) std::ranges::reverse(names);
    return names.empty() ? "nothing" : fmt::format("{}", fmt::join(names, ", "));
}

} // namespace

std::string step_text(Plan const& plan, std::uint32_t family, Use const& use) {
    auto const& pattern = plan.rules().patterns().at(use.pattern);
    return fmt::format("part {}: {} -> {}, rule {}{}", family + 1, ops_of(pattern.from, true),
                       ops_of(pattern.to, false), pattern.rule->key,
                       pattern.rule->condition.empty() ? "" : fmt::format(" where {}", pattern.rule->condition));
}

std::string variant_text(Variant const& variant) {
    auto const what =
        variant.is_whole ? std::string("the whole model") : fmt::format("part {}", variant.choices.front().family + 1);
    std::string out = fmt::format("{}: {} rewrite{}, {} nodes\n", what, variant.rewrites,
                                  variant.rewrites == 1 ? "" : "s", variant.nodes);
    for (auto const& step : variant.steps) out += "  " + step + "\n";
    return out;
}

Variant measured_on_backend(Plan const& plan, Variant const& variant, Folder& folder, std::uint64_t seed,
                            base::StopToken const& stop) {
    auto out = variant;
    Duel duel;
    if (variant.is_whole) {
        auto const whole = plan.whole(variant.choices, folder, {.seed = seed, .is_checked = false}, stop);
        duel = fight(plan.config(), plan.model(), whole.model, random_inputs(plan.model(), plan.parts().facts, seed), 3,
                     stop);
    } else {
        auto const& choice = variant.choices.front();
        auto const& before = plan.first_of(choice.family);
        auto const a = to_model(before), b = to_model(*plan.follow(before, choice.path, folder));
        duel = fight(plan.config(), a, b, random_inputs(a, model::infer(a), seed), 2, stop);
    }
    out.backend = duel.backend.empty() ? plan.config().backend : duel.backend;
    out.problem = duel.problem;
    if (!out.problem.empty()) return out;
    out.before_ms = median(duel.before);
    out.after_ms = median(duel.after);
    out.noise = noise_of(duel);
    out.backend_error = largest_difference(duel.outputs_before, duel.outputs_after);
    if (out.backend_error > backend_tolerance)
        out.problem = fmt::format("its outputs differ by {:.1e} on the back end", out.backend_error);
    return out;
}

} // namespace espalier::problems::rewrite
