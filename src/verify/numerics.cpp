#include "espalier/verify/numerics.hpp"

#include "emulated_graph.hpp"
#include "normal_input.hpp"

#include "espalier/base/rng.hpp"
#include "espalier/verify/sampling.hpp"

#include <algorithm>
#include <cmath>

namespace espalier::verify {
namespace {

using emulated::Box;
using emulated::Number;
using emulated::Numbers;
using program::Graph;
using program::Shape;

/// All of them in the last dimension.
std::vector<std::int64_t> one_row(Shape const& shape, std::int64_t max_elements) {
    std::vector<std::int64_t> counts(static_cast<std::size_t>(shape.rank()), 1);
    counts.back() = std::clamp<std::int64_t>(max_elements, 1, shape.back());
    return counts;
}

/// Neighbours at a random place: they share blocks, rows and columns, so that many cost little more than one.
Box neighbours(Shape const& shape, std::vector<std::int64_t> const& counts, std::uint64_t seed) {
    base::Rng rng{base::Seed{seed}};
    Box out;
    for (int d = 0; d < shape.rank(); ++d) {
        auto& indices = out.emplace_back(all_indices(counts[static_cast<std::size_t>(d)]));
        auto const places = shape[d] - static_cast<std::int64_t>(indices.size()) + 1;
        auto const first = static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(places)));
        for (auto& index : indices) index += first;
    }
    return out;
}

/// Elements of all outputs, and the work for them.
struct Sample {
    std::vector<Box> boxes;
    double work = 0;
};
/// The first of these that is not too much work: about so many elements, so many of one row, one.
std::optional<Sample> affordable(Graph const& graph, NumericsOptions const& options) {
    auto const tensors = program::infer(graph);
    auto const counts_of = [&](int choice, Shape const& shape) {
        if (choice == 0)
            return index_counts(shape, options.max_elements > 0 ? options.max_elements : element_count(shape), 1);
        return one_row(shape, choice == 1 ? options.max_elements : 1);
    };
    for (int choice = 0; choice < 3; ++choice) {
        Sample out;
        for (auto const id : graph.outputs) {
            auto const& shape = tensors[id].shape;
            out.boxes.push_back(neighbours(shape, counts_of(choice, shape), options.seed + out.boxes.size()));
        }
        auto const work = emulated::work_of(graph, out.boxes, options.max_work);
        if (!work) continue;
        out.work = *work;
        return out;
    }
    return std::nullopt;
}

/// Of the finite ones.
double root_mean_square(Numbers const& numbers) {
    double sum = 0, count = 0;
    for (auto const& number : numbers) {
        if (!std::isfinite(number.exact)) continue;
        sum += number.exact * number.exact;
        ++count;
    }
    return count > 0 ? std::sqrt(sum / count) : 0;
}
double error_of(Number const& number, double scale) {
    if (number.low == number.exact) return 0;
    if (!std::isfinite(number.low)) return std::numeric_limits<double>::infinity();
    return std::abs(number.low - number.exact) / (std::abs(number.exact) + scale);
}

/// The largest of one output; values that are not finite anyway are left out.
void compare(Numbers const& output, Numerics& out) {
    auto const scale = root_mean_square(output);
    for (auto const& number : output) {
        if (!std::isfinite(number.exact)) continue;
        out.rel_error = std::max(out.rel_error, error_of(number, scale));
        ++out.samples;
    }
}

} // namespace

std::optional<Numerics> estimate_numerics(Graph const& graph, NumericsOptions const& options) {
    if (graph.dtype == program::DType::f64) return std::nullopt;
    auto const sample = affordable(graph, options);
    if (!sample) return std::nullopt;
    emulated::Arithmetic arithmetic(graph.dtype);
    auto const input = [&](int number, std::uint64_t index) { return normal_input(options.seed, number, index); };
    auto const outputs = emulated::evaluate(graph, input, sample->boxes, arithmetic);
    Numerics out{.dtype = graph.dtype,
                 .largest_magnitude = arithmetic.largest_magnitude(),
                 .overflows = arithmetic.overflows(),
                 .work = sample->work};
    for (auto const& output : outputs) compare(output, out);
    return out.samples > 0 ? std::optional(out) : std::nullopt;
}

} // namespace espalier::verify
