#include "products.hpp"

#include "work.hpp"

#include <algorithm>
#include <vector>

namespace espalier::cost {
namespace {

using config::HardwareConfig;
using program::Shape;

constexpr std::int64_t word_bytes = 4;   // of a bank
constexpr std::int64_t piece_bytes = 16; // what a lane hands to the units at a time

/// [m, k] by [k, n], or by [n, k] if it is transposed, for every element of the batch.
struct Product {
    std::int64_t m = 1, n = 1, k = 1;
    std::int64_t batch = 1;
    bool is_transposed = false;
};

Product product_of(Shape const& left, Shape const& out, bool is_transposed) {
    auto const m = out[out.rank() - 2], n = out.back();
    return {m, n, left.back(), element_count(out) / (m * n), is_transposed};
}

double round_up(std::int64_t size, std::int64_t unit) { return static_cast<double>(ceil_div(size, unit) * unit); }

Products parts_of(Product const& one, std::int64_t element_bytes, HardwareConfig const& hardware,
                  config::MatmulShape const& shape) {
    auto const rows = ceil_div(one.m, shape.m), columns = ceil_div(one.n, shape.n);
    auto const tiles = one.batch * rows * columns;
    auto const units = static_cast<std::int64_t>(hardware.matmul_units);
    auto const tile_flops = 2.0 * shape.m * shape.n * round_up(one.k, shape.k);
    // Units stand side by side along n, then along m: those of a row share the left operand, those of a column the
    // right.
    auto const along_n = std::min(units, columns);
    auto const along_m = std::clamp<std::int64_t>(units / along_n, 1, rows);
    auto const bytes = [&](std::int64_t height, std::int64_t unit, std::int64_t width) {
        return static_cast<double>(one.batch) * round_up(height, unit) * static_cast<double>(width * element_bytes) *
               bank_factor(width * element_bytes, hardware.shared_banks);
    };
    Products out;
    out.padded_flops = tile_flops * static_cast<double>(tiles);
    out.alone_flops = tile_flops * round_up(tiles, units);
    auto const right = one.is_transposed ? bytes(one.n, shape.n, one.k) : bytes(one.k, shape.k, one.n);
    out.operand_bytes =
        bytes(one.m, shape.m, one.k) * static_cast<double>(along_n) + right * static_cast<double>(along_m);
    out.elements = tiles * shape.m * shape.n;
    return out;
}

} // namespace

double bank_factor(std::int64_t row_bytes, std::int32_t banks) {
    auto const rows = banks * word_bytes / piece_bytes;
    if (rows < 2 || row_bytes % piece_bytes == 0) return 1;
    auto const piece = std::min(row_bytes, piece_bytes);
    std::vector<int> words(static_cast<std::size_t>(banks));
    std::int64_t last = -1;
    for (std::int64_t row = 0; row < rows; ++row) {
        auto const first = row * row_bytes / word_bytes, end = (row * row_bytes + piece - 1) / word_bytes;
        for (auto word = std::max(first, last + 1); word <= end; ++word)
            ++words[static_cast<std::size_t>(word % banks)];
        last = end;
    }
    return static_cast<double>(std::ranges::max(words) * banks * word_bytes) / static_cast<double>(rows * piece);
}

Products products_of(program::Graph const& graph, program::OpId op, program::TensorInfos const& tensors,
                     HardwareConfig const& hardware) {
    auto const& one = graph.ops[op];
    auto const& rule = info(one.code).field;
    auto const made = std::ranges::find(tensors, op, &program::TensorInfo::maker);
    Products out;
    for (std::size_t t = 0; t < static_cast<std::size_t>(rule.terms); ++t) {
        auto const product = product_of(tensors[one.inputs[t]].shape, made->shape, rule.is_transposed);
        auto const parts =
            parts_of(product, info(graph.dtype).size_bytes, hardware, hardware.matmul_shape.of(graph.dtype));
        out.padded_flops += parts.padded_flops;
        out.alone_flops += parts.alone_flops;
        out.operand_bytes += parts.operand_bytes;
        out.elements = parts.elements;
    }
    return out;
}

} // namespace espalier::cost
