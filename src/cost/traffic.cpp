#include "traffic.hpp"

#include "work.hpp"

#include <algorithm>
#include <numeric>

namespace espalier::cost {
namespace {

using config::HardwareConfig;
using program::Shape;

/// Elements of a tile that lie together in the tensor: its last dimension, and those before as long as rows are whole.
std::int64_t run_of(Shape const& tile, Shape const& whole) {
    std::int64_t run = 1;
    for (int i = tile.rank() - 1; i >= 0; --i) {
        run *= tile[i];
        if (tile[i] != whole[i]) break;
    }
    return run;
}

/// Different tiles of an operand that `count` blocks read which follow each other, x fastest.
double distinct_tiles(Operand const& operand, std::array<std::int64_t, 3> const& grid, std::int64_t count) {
    double tiles = 1;
    for (std::size_t axis = 0; axis < 3; ++axis) {
        if (operand.is_split[axis]) tiles *= static_cast<double>(std::min(count, grid[axis]));
        count = ceil_div(count, grid[axis]);
    }
    return tiles;
}

Operand operand_of(program::Graph const& graph, Shape const& whole, program::Graph const& block, std::size_t input) {
    auto const& partition = block.schedule.inputs[input];
    auto const steps = partition.loop >= 0 ? static_cast<double>(block.schedule.loop) : 1.0;
    Operand out{.tensor_bytes = bytes_of(whole, graph.dtype),
                .block_bytes = steps * bytes_of(block.inputs[input].shape, block.dtype)};
    for (std::size_t axis = 0; axis < 3; ++axis) out.is_split[axis] = partition.grid[axis] >= 0;
    return out;
}

/// What a block writes of a result.
Shape tile_of(Shape shape, program::Schedule const& schedule) {
    for (std::size_t axis = 0; axis < 3; ++axis)
        if (schedule.output[axis] >= 0)
            shape[schedule.output[axis]] = ceil_div(shape[schedule.output[axis]], schedule.grid[axis]);
    return shape;
}

} // namespace

double touched_bytes(Shape const& tile, Shape const& whole, program::DType dtype, std::uint64_t unit) {
    auto const run = run_of(tile, whole) * info(dtype).size_bytes;
    auto const size = static_cast<std::int64_t>(unit);
    auto const touched = static_cast<double>(run + size - std::gcd(run, size));
    return bytes_of(tile, dtype) / static_cast<double>(run) * touched;
}

Traffic traffic_of(program::Graph const& graph, program::OpId op, program::TensorInfos const& tensors,
                   HardwareConfig const& hardware) {
    auto const& kernel = graph.ops[op];
    auto const& block = graph.bodies[static_cast<std::size_t>(kernel.body)];
    Traffic out;
    auto const add = [&](double BlockBytes::*phase, Shape const& tile, Shape const& whole) {
        out.asked.*phase += bytes_of(tile, graph.dtype);
        out.moved.*phase += touched_bytes(tile, whole, graph.dtype, hardware.sector);
        out.charged.*phase += touched_bytes(tile, whole, graph.dtype, std::max(hardware.sector, hardware.l2_access));
    };
    for (std::size_t j = 0; j < kernel.inputs.size(); ++j) {
        auto const& partition = block.schedule.inputs[j];
        auto const& whole = tensors[kernel.inputs[j]].shape;
        auto const before = std::span(kernel.inputs).first(j);
        add(partition.loop >= 0 ? &BlockBytes::step : &BlockBytes::before, block.inputs[j].shape, whole);
        out.operands.push_back(operand_of(graph, whole, block, j));
        out.operands.back().is_read_already = std::ranges::find(before, kernel.inputs[j]) != before.end();
    }
    for (auto const& made : tensors) {
        if (made.maker != op) continue;
        out.written_bytes += bytes_of(made.shape, graph.dtype);
        add(&BlockBytes::after, tile_of(made.shape, block.schedule), made.shape);
    }
    return out;
}

double device_bytes(Traffic const& traffic, std::array<std::int64_t, 3> const& grid, Waves const& waves,
                    HardwareConfig const& hardware) {
    double wave_bytes = 0;
    for (auto const& one : traffic.operands) wave_bytes += one.block_bytes * distinct_tiles(one, grid, waves.full);
    auto const kept = std::min(1.0, static_cast<double>(hardware.l2) / std::max(1.0, wave_bytes));
    auto bytes = traffic.written_bytes;
    for (auto const& one : traffic.operands) {
        if (one.is_read_already) continue;
        auto const read =
            one.block_bytes * (static_cast<double>(waves.count - 1) * distinct_tiles(one, grid, waves.full) +
                               distinct_tiles(one, grid, waves.last));
        bytes += one.tensor_bytes + std::max(0.0, read - one.tensor_bytes) * (1 - kept);
    }
    return bytes;
}

} // namespace espalier::cost
