#include "operator_rules.hpp"

#include <algorithm>

/// Which operands fit, and the layouts of their results: the definitions of TASO's space.
namespace espalier::problems::substitution::rules {
namespace {

Layouts one(Layout const& layout) { return {.of = {layout}, .count = 1}; }
std::optional<Layouts> one_if_small(Layout const& layout, Sizes const& sizes) {
    if (layout.size() > sizes.most_elements) return std::nullopt;
    return one(layout);
}

bool are_same(Layout const& a, Layout const& b) {
    return a.rank == b.rank && a.dims == b.dims && a.strides == b.strides;
}

/// Marks of two tensors that are put together element by element.
Marks common(Marks const& a, Marks const& b) { return a == b ? a : Marks{}; }

int concat_rank(Operator code) { return code == Operator::concat2_0 || code == Operator::concat2_1 ? 2 : 4; }

Marks joined(Marks const& a, Marks const& b, int cut) {
    auto out = a;
    for (std::size_t i = 0; i < b.count; ++i) out.push(b.at[i] + cut);
    out.push(cut);
    return out;
}

/// Marks below the cut stay left, those after them go right, minus the cut; the cut itself is the last one.
std::array<Marks, 2> cut_marks(Marks const& marks) {
    std::array<Marks, 2> out{};
    auto const cut = marks.last();
    std::size_t i = 0;
    while (marks.at[i] < cut) out[0].push(marks.at[i++]);
    while (i + 1 < marks.count) out[1].push(marks.at[i++] - cut);
    return out;
}

} // namespace

Kernel kernel_of(Operator code) {
    using enum Operator;
    auto const has_relu = code >= conv3x3_relu;
    auto const plain = static_cast<int>(code) - static_cast<int>(has_relu ? conv3x3_relu : conv3x3);
    return {.height = plain == 0 ? 3 : 1, .width = plain == 1 ? 1 : 3, .has_relu = has_relu};
}

std::optional<Layouts> matmul_layout(Operator, Operands const& in) {
    auto const &a = in.a->layout, &b = in.b->layout;
    if (in.a == in.b || a.rank != 2 || b.rank != 2 || a.dim(1) != b.dim(0) || a.dim(1) == in.sizes.not_inner)
        return std::nullopt;
    auto out = contiguous(2, {a.dim(0), b.dim(1)});
    out.marks = {a.marks[0], b.marks[1]};
    return one(out);
}

std::optional<Layouts> pointwise_layout(Operator, Operands const& in) {
    if (in.a == in.b || !are_same(in.a->layout, in.b->layout)) return std::nullopt;
    auto out = in.a->layout;
    for (std::size_t i = 0; i < marked_axes; ++i) out.marks[i] = common(out.marks[i], in.b->layout.marks[i]);
    return one(out);
}

std::optional<Layouts> scale_layout(Operator, Operands const& in) {
    if (in.a == in.b || in.b->layout.rank != 0) return std::nullopt;
    return one(in.a->layout);
}

std::optional<Layouts> same_layout(Operator, Operands const& in) { return one(in.a->layout); }

std::optional<Layouts> conv_layout(Operator code, Operands const& in) {
    auto const &x = in.a->layout, &w = in.b->layout;
    auto const kernel = kernel_of(code);
    if (x.rank != 4 || w.rank != 4 || w.dim(2) != kernel.height || w.dim(3) != kernel.width) return std::nullopt;
    if (in.a->input_class >= 0 && input_classes()[static_cast<std::size_t>(in.a->input_class)].is_kernel)
        return std::nullopt;
    if (x.dim(1) % w.dim(1) != 0 || w.dim(0) % (x.dim(1) / w.dim(1)) != 0) return std::nullopt;
    auto out = contiguous(4, {x.dim(0), w.dim(0), x.dim(2), x.dim(3)});
    out.marks = {x.marks[0], w.marks[0]};
    return one_if_small(out, in.sizes);
}

std::optional<Layouts> pool_layout(Operator, Operands const& in) {
    auto const& x = in.a->layout;
    if (x.rank != 4) return std::nullopt;
    auto out = contiguous(4, x.dims);
    out.marks[0] = x.marks[0];
    return one_if_small(out, in.sizes);
}

std::optional<Layouts> enlarged_layout(Operator, Operands const& in) {
    auto const which = in.a->input_class;
    if (which < 0 || !input_classes()[static_cast<std::size_t>(which)].is_small) return std::nullopt;
    auto const& x = in.a->layout;
    auto out = contiguous(4, {x.dim(0), x.dim(1), 3, 3});
    out.marks = x.marks;
    return one_if_small(out, in.sizes);
}

std::optional<Layouts> concat_layout(Operator code, Operands const& in) {
    auto const &a = in.a->layout, &b = in.b->layout;
    auto const rank = concat_rank(code);
    if (in.a == in.b || a.rank != rank || b.rank != rank) return std::nullopt;
    auto const axis = static_cast<std::size_t>(info(code).concat_axis);
    auto dims = a.dims;
    for (std::size_t i = 0; i < dims.size(); ++i)
        if (i != axis && a.dims[i] != b.dims[i]) return std::nullopt;
    dims[axis] += b.dims[axis];
    auto out = contiguous(rank, dims);
    if (out.size() > in.sizes.most_elements || a.marks[axis].count + b.marks[axis].count + 1u > max_marks)
        return std::nullopt;
    for (std::size_t i = 0; i < marked_axes; ++i)
        out.marks[i] = i == axis ? joined(a.marks[i], b.marks[i], a.dims[i]) : common(a.marks[i], b.marks[i]);
    return one(out);
}

std::optional<Layouts> split_layout(Operator code, Operands const& in) {
    auto const axis = code == Operator::split_0 ? 0u : 1u;
    auto const& x = in.a->layout;
    if (x.rank < 2 || x.marks[axis].count == 0) return std::nullopt;
    auto const cut = x.marks[axis].last();
    auto const marks = cut_marks(x.marks[axis]);
    Layouts out{.count = 2};
    for (std::size_t i = 0; i < 2; ++i) {
        auto dims = x.dims;
        dims[axis] = i == 0 ? cut : x.dims[axis] - cut;
        out.of[i] = contiguous(x.rank, dims);
        out.of[i].marks = x.marks;
        out.of[i].marks[axis] = marks[i];
    }
    return out;
}

std::optional<Layouts> transposed_layout(Operator code, Operands const& in) {
    auto out = in.a->layout;
    if (out.rank != 2) return std::nullopt;
    std::swap(out.dims[0], out.dims[1]);
    std::swap(out.strides[0], out.strides[1]);
    std::swap(out.marks[0], out.marks[1]);
    if (code == Operator::transpose_copy) out.strides = contiguous(2, out.dims).strides;
    return one(out);
}

std::optional<Layouts> constant_layout(Operator code, Operands const& in) {
    auto const channels = in.sizes.channels;
    switch (code) {
    case Operator::pool_kernel:
        return one(contiguous(4, {channels, 1, 3, 3}));
    case Operator::identity_kernel:
        return one(contiguous(4, {channels, channels, 3, 3}));
    case Operator::identity_matrix:
        return one(contiguous(2, {channels, channels}));
    default:
        return one(contiguous(4, {in.sizes.batch, channels, in.sizes.height, in.sizes.width}));
    }
}

} // namespace espalier::problems::substitution::rules
