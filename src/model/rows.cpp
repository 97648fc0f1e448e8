#include "espalier/base/contract.hpp"
#include "nest_evaluate.hpp"

#include <algorithm>
#include <limits>

namespace espalier::model {
namespace {

using RowKind = ScalarNode::Kind;

/// How many values are computed at once: they stay in the first cache.
constexpr std::int64_t most_in_row = 512;

/// A read along a row: where it is for the other loops, and how it goes on.
class RowRead {
public:
    RowRead(Nest const& nest, Read const& read, double const* values, std::size_t row_loop)
        : read_(read), values_(values) {
        std::int64_t stride = 1;
        std::vector<std::int64_t> strides(nest.loops());
        for (auto d = read.shape.size(); d-- > 0; stride *= read.shape[d]) {
            for (auto const& step : read.index[d].steps) strides[step.loop] += stride * step.stride;
            offset_ += stride * read.index[d].offset;
        }
        for (std::size_t loop = 0; loop < strides.size(); ++loop)
            if (strides[loop] != 0 && loop != row_loop) steps_.push_back({loop, strides[loop]});
        stride_ = row_loop < strides.size() ? strides[row_loop] : 0;
        for (std::size_t d = 0; d < read.shape.size(); ++d) add_edge(d, row_loop);
    }

    /// Of the `count` values from `from` on: which of them are inside.
    struct Range {
        std::int64_t begin = 0, end = 0;
    };
    [[nodiscard]] Range inside(std::vector<std::int64_t> const& loops, std::int64_t from, std::int64_t count) const {
        Range out{0, count};
        if (read_.outside == Outside::never) return out;
        for (auto const& edge : edges_) {
            auto at = edge.offset;
            for (auto const& step : edge.steps) at += step.stride * loops[step.loop];
            at += edge.stride * from;
            if (edge.stride == 0) {
                if (at < 0 || at >= edge.size) return {0, 0};
                continue;
            }
            // at + stride * i in [0, size)
            auto const stride = std::abs(edge.stride);
            auto const low = edge.stride > 0 ? -at : at - edge.size + 1;
            auto const high = edge.stride > 0 ? edge.size - 1 - at : at;
            out.begin = std::max(out.begin, low > 0 ? (low + stride - 1) / stride : 0);
            out.end = std::min(out.end, high < 0 ? 0 : high / stride + 1);
        }
        return out.begin < out.end ? out : Range{0, 0};
    }
    void copy(std::vector<std::int64_t> const& loops, std::int64_t from, Range range, double* out) const {
        if (range.begin == range.end) return;
        auto at = offset_ + stride_ * from;
        for (auto const& step : steps_) at += step.stride * loops[step.loop];
        if (stride_ == 1)
            std::copy(values_ + at + range.begin, values_ + at + range.end, out + range.begin);
        else if (stride_ == 0)
            std::fill(out + range.begin, out + range.end, values_[at]);
        else
            for (auto i = range.begin; i < range.end; ++i) out[i] = values_[at + stride_ * i];
    }
    [[nodiscard]] Read const& read() const { return read_; }

private:
    /// Along a dimension that it may leave.
    struct Edge {
        std::int64_t size = 0, offset = 0, stride = 0;
        std::vector<Step> steps;
    };
    void add_edge(std::size_t d, std::size_t row_loop) {
        Edge out{.size = read_.shape[d], .offset = read_.index[d].offset, .stride = 0, .steps = {}};
        for (auto const& step : read_.index[d].steps) {
            if (step.loop == row_loop)
                out.stride += step.stride;
            else
                out.steps.push_back(step);
        }
        edges_.push_back(out);
    }

    Read const& read_;
    double const* values_;
    std::int64_t offset_ = 0, stride_ = 0;
    std::vector<Step> steps_;
    std::vector<Edge> edges_;
};

void apply_to_row(Function function, double const* a, double const* b, std::int64_t n, double* out) {
    auto const each = [&](auto op) {
        for (std::int64_t i = 0; i < n; ++i) out[i] = op(a[i], b[i]);
    };
    switch (function) {
    case Function::add:
        return each([](double x, double y) { return x + y; });
    case Function::sub:
        return each([](double x, double y) { return x - y; });
    case Function::mul:
        return each([](double x, double y) { return x * y; });
    case Function::div:
        return each([](double x, double y) { return x / y; });
    case Function::maximum:
        return each([](double x, double y) { return x > y || x != x ? x : y; });
    case Function::minimum:
        return each([](double x, double y) { return x < y || x != x ? x : y; });
    default:
        return each(info(function).real);
    }
}

class RowEvaluator {
public:
    RowEvaluator(Nest const& nest, Sources const& sources) : nest_(nest), loops_(nest.loops()) {
        row_loop_ = nest.kept.size();
        while (row_loop_ > 0 && nest.kept[row_loop_ - 1] == 1) --row_loop_;
        row_ = row_loop_ > 0 ? nest.kept[row_loop_ - 1] : 1;
        row_loop_ = row_loop_ > 0 ? row_loop_ - 1 : nest.loops();
        for (auto const& read : nest.reads)
            reads_.emplace_back(nest, read, sources[read.source]->reals.data(), row_loop_);
        auto const width = static_cast<std::size_t>(std::min(row_, most_in_row));
        nodes_.assign(nest.body.size(), std::vector<double>(width));
    }
    /// What is reduced, and how many values each result is of.
    struct Reduced {
        std::vector<double> values, counts;
    };
    [[nodiscard]] Reduced run(base::StopToken const& stop) {
        auto const size = static_cast<std::size_t>(element_count(nest_.kept));
        Reduced out{std::vector<double>(size, start()), {}};
        if (!nest_.epilogue.empty()) out.counts.resize(size);
        if (size == 0) return out;
        std::int64_t at = 0, done = 0;
        do {
            for (std::int64_t from = 0; from < row_; from += most_in_row) {
                auto const n = std::min(most_in_row, row_ - from);
                auto* const counts = out.counts.empty() ? nullptr : out.counts.data() + at + from;
                reduce_row(from, n, out.values.data() + at + from, counts, stop);
                if (((done += n) & 0xFFFF) < n) stop.check();
            }
            at += row_;
        } while (advance(0, nest_.kept.size()));
        return out;
    }

private:
    [[nodiscard]] double start() const {
        switch (nest_.reducer) {
        case Reducer::product:
            return 1;
        case Reducer::maximum:
            return -std::numeric_limits<double>::infinity();
        case Reducer::minimum:
            return std::numeric_limits<double>::infinity();
        default:
            return 0;
        }
    }
    /// To the next values of loops [from, to) other than that of the row. False after the last.
    bool advance(std::size_t from, std::size_t to) {
        for (auto i = to; i-- > from;) {
            if (i == row_loop_) continue;
            if (++loops_[i] < nest_.loop_size(i)) return true;
            loops_[i] = 0;
        }
        return false;
    }
    void reduce_row(std::int64_t from, std::int64_t n, double* out, double* counts, base::StopToken const& stop) {
        if (nest_.reducer == Reducer::none) {
            (void)body(from, n);
            std::copy_n(nodes_.back().data(), n, out);
            return;
        }
        if (element_count(nest_.reduced) == 0) return;
        std::int64_t done = 0;
        do {
            auto const range = body(from, n);
            reduce(range, out);
            if (counts)
                for (auto i = range.begin; i < range.end; ++i) ++counts[i];
            if (((done += n) & 0xFFFFF) < n) stop.check();
        } while (advance(nest_.kept.size(), nest_.loops()));
    }
    void reduce(RowRead::Range range, double* out) const {
        auto const* const values = nodes_.back().data();
        auto const function = nest_.reducer == Reducer::sum       ? Function::add
                              : nest_.reducer == Reducer::product ? Function::mul
                              : nest_.reducer == Reducer::maximum ? Function::maximum
                                                                  : Function::minimum;
        apply_to_row(function, out + range.begin, values + range.begin, range.end - range.begin, out + range.begin);
    }
    /// The values of the body, and for which of them nothing says to skip.
    RowRead::Range body(std::int64_t from, std::int64_t n) {
        RowRead::Range out{0, n};
        for (std::size_t i = 0; i < nest_.body.size(); ++i) {
            auto const& node = nest_.body[i];
            auto* const values = nodes_[i].data();
            if (node.kind == RowKind::apply)
                apply_to_row(node.function, nodes_[node.arguments[0]].data(), nodes_[node.arguments[1]].data(), n,
                             values);
            else if (node.kind == RowKind::number)
                std::fill_n(values, n, node.number);
            else if (auto const range = read(node.index, from, n, values);
                     reads_[node.index].read().outside == Outside::skip)
                out = {std::max(out.begin, range.begin), std::min(out.end, range.end)};
        }
        return out.begin < out.end ? out : RowRead::Range{0, 0};
    }
    RowRead::Range read(std::size_t number, std::int64_t from, std::int64_t n, double* out) {
        auto const& each = reads_[number];
        auto const range = each.inside(loops_, from, n);
        if (range.end - range.begin < n) {
            if (each.read().outside == Outside::other)
                read(each.read().other, from, n, out);
            else
                std::fill_n(out, n, 0.0);
        }
        each.copy(loops_, from, range, out);
        return range;
    }

    Nest const& nest_;
    std::vector<std::int64_t> loops_;
    std::size_t row_loop_ = 0; ///< the innermost that is kept and goes somewhere
    std::int64_t row_ = 1;
    std::vector<RowRead> reads_;
    std::vector<std::vector<double>> nodes_; ///< a row of every node of the body
};

bool is_of_reals(Expression const& expression) {
    return std::ranges::all_of(expression, [](ScalarNode const& node) {
        if (node.kind == RowKind::loop) return false;
        if (node.kind != RowKind::apply) return true;
        auto const& row = info(node.function);
        return row.real != nullptr && !row.is_test && node.function != Function::to_whole;
    });
}
bool goes_by_rows(Nest const& nest, Sources const& sources) {
    if (nest.reducer > Reducer::minimum || !is_real(nest.out.element)) return false;
    if (!is_of_reals(nest.body) || !is_of_reals(nest.epilogue)) return false;
    return std::ranges::all_of(nest.reads, [&](Read const& read) {
        auto const looks_up = [](Position const& position) { return position.looked_up.has_value(); };
        return is_real(sources[read.source]->element) && std::ranges::none_of(read.index, looks_up);
    });
}

} // namespace

std::optional<Array> evaluate_rows(Nest const& nest, Sources const& sources, base::StopToken const& stop) {
    if (!goes_by_rows(nest, sources)) return std::nullopt;
    auto reduced = RowEvaluator(nest, sources).run(stop);
    Array values{.element = nest.out.element, .dims = nest.out.dims, .reals = {}, .wholes = {}, .texts = {}};
    values.reals = std::move(reduced.values);
    if (nest.epilogue.empty()) return values;
    Array counts{.element = nest.out.element, .dims = {}, .reals = {}, .wholes = {}, .texts = {}};
    counts.reals = std::move(reduced.counts);
    auto all = sources;
    all.push_back(&values);
    all.push_back(&counts);
    return evaluate_rows(epilogue_nest(nest, sources.size()), all, stop);
}

} // namespace espalier::model
