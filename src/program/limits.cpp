#include "limits.hpp"

#include "espalier/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace espalier::program {
namespace {

using base::InputError;

/// What is wrong with a value, and what to give in its place.
std::optional<std::string> problem_of_value(AttributeName name, double value) {
    using enum AttributeName;
    auto const is_count =
        name == axis || name == size || name == permutation || name == shape || name == from || name == to;
    if (!std::isfinite(value)) return fmt::format("{}: give a number", value);
    if (is_count && (value != std::floor(value) || std::abs(value) > static_cast<double>(max_dim)))
        return fmt::format("{}: give a whole number", value);
    if (name == dtype && (value < 0 || value >= static_cast<double>(dtypes.size()) || value != std::floor(value)))
        return fmt::format("{}: give the number of a dtype", value);
    if (name == over && value == 0) return "0: give another number, since nothing can be divided by it";
    if (name == eps && value < 0) return fmt::format("{}: give 0 or a positive number", value);
    return std::nullopt;
}

bool is_size(std::int64_t size) { return size >= 1 && size <= max_dim; }

void check(Shape const& shape) {
    if (shape.rank() == 0 || !std::ranges::all_of(shape, is_size) || estimate_elements(shape) > max_elements)
        throw InputError("{} is not a shape: give sizes from 1 to {}, and not too many elements", to_text(shape),
                         max_dim);
}

void check(Schedule const& schedule) {
    double blocks = 1;
    for (auto const size : schedule.grid) blocks *= static_cast<double>(size);
    if (!std::ranges::all_of(schedule.grid, is_size) || blocks > static_cast<double>(max_dim))
        throw InputError("a grid of {} x {} x {} blocks: give sizes from 1 on, and at most {} blocks", schedule.grid[0],
                         schedule.grid[1], schedule.grid[2], max_dim);
    if (!is_size(schedule.loop) || !is_size(schedule.threads))
        throw InputError("a loop of {} steps with {} threads: give sizes from 1 to {}", schedule.loop, schedule.threads,
                         max_dim);
}

void check(Graph const& graph) {
    check(graph.schedule);
    for (auto const& input : graph.inputs) check(input.shape);
    for (auto const& op : graph.ops) {
        if (op.inputs.empty()) throw InputError("{} reads no tensor: give it operands", info(op.code).name);
        for (auto const& attribute : op.attributes.items())
            if (auto const problem = problem_of(info(op.code), attribute)) throw InputError(*problem);
    }
    for (auto const& body : graph.bodies) check(body);
}

} // namespace

double estimate_elements(Shape const& shape) {
    double count = 1;
    for (auto const size : shape) count *= static_cast<double>(size);
    return count;
}

std::optional<std::string> problem_of(OpInfo const& row, Attribute const& attribute) {
    auto const label = name(attribute.name);
    if (std::ranges::find(row.attributes, attribute.name) == row.attributes.end())
        return fmt::format("{} has no attribute `{}`: remove it", row.name, label);
    auto const is_list = attribute.name == AttributeName::permutation || attribute.name == AttributeName::shape;
    if (attribute.values.size() != 1 && !is_list)
        return fmt::format("`{}` has {} values: give one number", label, attribute.values.size());
    for (auto const value : attribute.values)
        if (auto const problem = problem_of_value(attribute.name, value))
            return fmt::format("`{}` is {}", label, *problem);
    return std::nullopt;
}

TensorInfos infer_within_limits(Graph const& graph) {
    check(graph);
    auto tensors = infer(graph);
    for (auto const& tensor : tensors) check(tensor.shape);
    return tensors;
}

} // namespace espalier::program
