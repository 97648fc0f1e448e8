#include "espalier/base/contract.hpp"
#include "nest_evaluate.hpp"

#include <algorithm>
#include <array>

namespace espalier::model {
namespace {

using Pair = double __attribute__((vector_size(16)));

/// Sizes of the blocks of a product of matrices: rows of the left, summed, columns of the right. A block of the right
/// operand stays in the second cache while all rows of the left one pass by it.
constexpr std::int64_t most_rows = 96, most_summed = 256, most_columns = 256;
/// Of what is summed in registers.
constexpr std::int64_t tile_rows = 4, tile_columns = 4;

/// Loops that go together, as one.
struct LoopGroup {
    std::vector<std::size_t> loops;
    std::int64_t size = 1;

    void add(Nest const& nest, std::size_t loop) {
        loops.push_back(loop);
        size *= nest.loop_size(loop);
    }
};

/// sum over the loops of the group of stride * i, for every value of the group.
std::vector<std::int64_t> offsets_of(Nest const& nest, LoopGroup const& group,
                                     std::vector<std::int64_t> const& strides) {
    std::vector<std::int64_t> out{0};
    for (auto const loop : group.loops) {
        auto const before = std::move(out);
        out.clear();
        out.reserve(before.size() * static_cast<std::size_t>(nest.loop_size(loop)));
        for (auto const base : before)
            for (std::int64_t i = 0; i < nest.loop_size(loop); ++i) out.push_back(base + i * strides[loop]);
    }
    return out;
}

/// An operand as a matrix: where its element is for each value of a group that is kept and of what is summed.
class Matrix {
public:
    Matrix(Nest const& nest, Read const& read, double const* values, LoopGroup const& batch, LoopGroup const& kept,
           LoopGroup const& summed)
        : values_(values) {
        std::vector<std::int64_t> strides(nest.loops());
        std::int64_t stride = 1, offset = 0;
        for (auto d = read.shape.size(); d-- > 0; stride *= read.shape[d]) {
            for (auto const& step : read.index[d].steps) strides[step.loop] += stride * step.stride;
            offset += stride * read.index[d].offset;
            if (read.outside != Outside::never && may_leave(nest, read, d))
                edges_.push_back(edge(nest, read, d, batch, kept, summed));
        }
        batch_ = offsets_of(nest, batch, strides);
        kept_ = offsets_of(nest, kept, strides);
        summed_ = offsets_of(nest, summed, strides);
        for (auto& each : batch_) each += offset;
    }
    /// kept [from, from + count) x summed [k, k + depth) of a batch into panels of `width`, zeros past the end.
    void pack(std::int64_t batch, std::int64_t from, std::int64_t count, std::int64_t k, std::int64_t depth,
              std::int64_t width, double* out) const {
        for (std::int64_t panel = 0; panel < count; panel += width, out += width * depth) {
            auto const there = std::min(width, count - panel);
            for (std::int64_t i = 0; i < depth; ++i)
                for (std::int64_t j = 0; j < width; ++j)
                    out[i * width + j] = j < there ? at(batch, from + panel + j, k + i) : 0;
        }
    }

private:
    /// Along a dimension that a read may leave, where it is.
    struct Edge {
        std::int64_t size = 0;
        std::vector<std::int64_t> batch, kept, summed;
    };

    static bool may_leave(Nest const& nest, Read const& read, std::size_t d) {
        auto low = read.index[d].offset, high = low;
        for (auto const& step : read.index[d].steps)
            (step.stride < 0 ? low : high) += step.stride * (nest.loop_size(step.loop) - 1);
        return low < 0 || high >= read.shape[d];
    }
    static Edge edge(Nest const& nest, Read const& read, std::size_t d, LoopGroup const& batch, LoopGroup const& kept,
                     LoopGroup const& summed) {
        std::vector<std::int64_t> strides(nest.loops());
        for (auto const& step : read.index[d].steps) strides[step.loop] += step.stride;
        Edge out{.size = read.shape[d],
                 .batch = offsets_of(nest, batch, strides),
                 .kept = offsets_of(nest, kept, strides),
                 .summed = offsets_of(nest, summed, strides)};
        for (auto& each : out.batch) each += read.index[d].offset;
        return out;
    }
    [[nodiscard]] double at(std::int64_t batch, std::int64_t kept, std::int64_t summed) const {
        auto const b = static_cast<std::size_t>(batch), i = static_cast<std::size_t>(kept),
                   k = static_cast<std::size_t>(summed);
        for (auto const& each : edges_) {
            auto const position = each.batch[b] + each.kept[i] + each.summed[k];
            if (position < 0 || position >= each.size) return 0;
        }
        return values_[batch_[b] + kept_[i] + summed_[k]];
    }

    double const* values_;
    std::vector<Edge> edges_;
    std::vector<std::int64_t> batch_, kept_, summed_;
};

using Tile = std::array<std::array<Pair, tile_columns / 2>, tile_rows>;

/// A panel of the left operand times one of the right.
Tile multiplied(double const* a, double const* b, std::int64_t depth) {
    Tile out{};
    for (std::int64_t k = 0; k < depth; ++k, a += tile_rows, b += tile_columns) {
        Pair const b0{b[0], b[1]}, b1{b[2], b[3]};
        for (std::size_t i = 0; i < tile_rows; ++i) {
            Pair const each{a[i], a[i]};
            out[i][0] += each * b0;
            out[i][1] += each * b1;
        }
    }
    return out;
}

/// Which loops only the left operand reads (rows), only the right (columns), both (batch), and which are summed.
struct Groups {
    LoopGroup batch, rows, columns, summed;
};
bool reads_loop(Read const& read, std::size_t loop) {
    return std::ranges::any_of(read.index, [&](Position const& position) {
        return std::ranges::any_of(position.steps, [&](Step const& step) { return step.loop == loop; });
    });
}
Groups groups_of(Nest const& nest) {
    Groups out;
    for (std::size_t loop = 0; loop < nest.loops(); ++loop) {
        auto const in_left = reads_loop(nest.reads[0], loop), in_right = reads_loop(nest.reads[1], loop);
        if (loop >= nest.kept.size())
            out.summed.add(nest, loop);
        else if (in_left && in_right)
            out.batch.add(nest, loop);
        else
            (in_left ? out.rows : out.columns).add(nest, loop);
    }
    return out;
}

/// Where in the result the values of a group of kept loops are.
std::vector<std::int64_t> places_of(Nest const& nest, LoopGroup const& group) {
    std::vector<std::int64_t> strides(nest.loops());
    std::int64_t stride = 1;
    for (auto i = nest.kept.size(); i-- > 0; stride *= nest.kept[i]) strides[i] = stride;
    return offsets_of(nest, group, strides);
}

class Contraction {
public:
    Contraction(Nest const& nest, Sources const& sources)
        : groups_(groups_of(nest)), left_(nest, nest.reads[0], sources[nest.reads[0].source]->reals.data(),
                                          groups_.batch, groups_.rows, groups_.summed),
          right_(nest, nest.reads[1], sources[nest.reads[1].source]->reals.data(), groups_.batch, groups_.columns,
                 groups_.summed),
          batch_(places_of(nest, groups_.batch)), rows_(places_of(nest, groups_.rows)),
          columns_(places_of(nest, groups_.columns)), out_(static_cast<std::size_t>(element_count(nest.kept))) {
        auto const depth = std::min(most_summed, groups_.summed.size);
        packed_left_.resize(static_cast<std::size_t>(depth * (most_rows + tile_rows)));
        packed_right_.resize(static_cast<std::size_t>(depth * (most_columns + tile_columns)));
    }
    [[nodiscard]] std::vector<double> run(base::StopToken const& stop) {
        for (std::int64_t b = 0; b < groups_.batch.size; ++b)
            for (std::int64_t n = 0; n < groups_.columns.size; n += most_columns)
                for (std::int64_t k = 0; k < groups_.summed.size; k += most_summed) {
                    stop.check();
                    add_columns(b, n, k);
                }
        return std::move(out_);
    }

private:
    void add_columns(std::int64_t b, std::int64_t n, std::int64_t k) {
        auto const depth = std::min(most_summed, groups_.summed.size - k);
        auto const columns = std::min(most_columns, groups_.columns.size - n);
        right_.pack(b, n, columns, k, depth, tile_columns, packed_right_.data());
        for (std::int64_t m = 0; m < groups_.rows.size; m += most_rows) {
            auto const rows = std::min(most_rows, groups_.rows.size - m);
            left_.pack(b, m, rows, k, depth, tile_rows, packed_left_.data());
            for (std::int64_t j = 0; j < columns; j += tile_columns)
                for (std::int64_t i = 0; i < rows; i += tile_rows)
                    add_tile(multiplied(packed_left_.data() + i * depth, packed_right_.data() + j * depth, depth), b,
                             m + i, n + j);
        }
    }
    void add_tile(Tile const& tile, std::int64_t b, std::int64_t m, std::int64_t n) {
        auto const rows = std::min(tile_rows, groups_.rows.size - m);
        auto const columns = std::min(tile_columns, groups_.columns.size - n);
        for (std::int64_t i = 0; i < rows; ++i)
            for (std::int64_t j = 0; j < columns; ++j) {
                auto const place = batch_[static_cast<std::size_t>(b)] + rows_[static_cast<std::size_t>(m + i)] +
                                   columns_[static_cast<std::size_t>(n + j)];
                out_[static_cast<std::size_t>(place)] +=
                    tile[static_cast<std::size_t>(i)][static_cast<std::size_t>(j / 2)][j % 2];
            }
    }

    Groups groups_;
    Matrix left_, right_;
    std::vector<std::int64_t> batch_, rows_, columns_; ///< places in the result
    std::vector<double> out_, packed_left_, packed_right_;
};

bool is_contraction(Nest const& nest, Sources const& sources) {
    using Kind = ScalarNode::Kind;
    if (nest.reducer != Reducer::sum || nest.body.size() != 3) return false;
    if (nest.body[0].kind != Kind::read || nest.body[0].index != 0 || nest.body[1].kind != Kind::read ||
        nest.body[1].index != 1 || nest.body[2].kind != Kind::apply || nest.body[2].function != Function::mul ||
        nest.body[2].arguments[0] == nest.body[2].arguments[1])
        return false;
    return std::ranges::all_of(nest.reads, [&](Read const& read) {
        auto const looks_up = [](Position const& position) { return position.looked_up.has_value(); };
        return is_real(sources[read.source]->element) && std::ranges::none_of(read.index, looks_up) &&
               (read.outside == Outside::never || read.outside == Outside::zero);
    });
}

} // namespace

std::optional<Array> evaluate_contraction(Nest const& nest, Sources const& sources, base::StopToken const& stop) {
    if (!is_contraction(nest, sources)) return std::nullopt;
    Array sums{.element = nest.out.element, .dims = nest.out.dims, .reals = {}, .wholes = {}, .texts = {}};
    sums.reals = Contraction(nest, sources).run(stop);
    if (nest.epilogue.empty()) return sums;
    Array counts{.element = sums.element, .dims = {}, .reals = {}, .wholes = {}, .texts = {}};
    if (std::ranges::any_of(nest.epilogue, [](auto const& node) { return node.kind == ScalarNode::Kind::count; }))
        counts.reals.assign(sums.reals.size(), static_cast<double>(element_count(nest.reduced)));
    auto all = sources;
    all.push_back(&sums);
    all.push_back(&counts);
    return evaluate_nest(epilogue_nest(nest, sources.size()), all, stop);
}

} // namespace espalier::model
