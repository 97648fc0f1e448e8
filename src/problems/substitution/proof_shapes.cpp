#include "proof_shapes.hpp"

#include "espalier/base/contract.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace espalier::problems::substitution::proof {

/// One operator, with what is known about its operands.
struct Shapes::Step {
    Operator code{};
    Shape a, b;
    Layout of_a, of_b; ///< for the numbers of the search
};

namespace {

/// The marks that the operators keep: those of another axis only if both operands have the same.
std::vector<Size> common(std::vector<Size> const& a, Layout const& of_a, Layout const& of_b, std::size_t axis) {
    return of_a.marks[axis] == of_b.marks[axis] ? a : std::vector<Size>{};
}

std::size_t split_axis(Operator code) { return code == Operator::split_0 ? 0 : 1; }

} // namespace

Shape const& Shapes::input(Ref slot) {
    auto const found = inputs_.find(slot);
    if (found != inputs_.end()) return found->second;
    auto const& row = input_classes()[static_cast<std::size_t>(input_slots().class_of(slot))];
    Shape out{.rank = row.rank, .dims = {}, .image = {}, .marks = {}};
    if (row.rank > 0) out.dims = {sizes_.fresh(), sizes_.fresh()};
    auto const dims = row.dims(substitution::Sizes{});
    for (std::size_t i = 0; i < 2 && row.rank == 4; ++i) // kernels have the numbers of their operators
        out.image[i] = row.is_kernel ? number(dims[i + 2]) : fresh_leaf();
    if (row.is_kernel && row.rank == 4 && dims[1] == 1) out.dims[1] = {number(1)};
    return inputs_.emplace(slot, out).first->second;
}

bool Shapes::unify_images(Shape const& a, Shape const& b) {
    return sizes_.unify({a.image[0]}, {b.image[0]}) && sizes_.unify({a.image[1]}, {b.image[1]});
}

bool Shapes::unify(Shape const& a, Shape const& b) {
    if (a.rank != b.rank) return false;
    if (a.rank == 0) return true;
    return sizes_.unify(a.dims[0], b.dims[0]) && sizes_.unify(a.dims[1], b.dims[1]) &&
           (a.rank == 2 || unify_images(a, b));
}

Grouping Shapes::grouping(Shape const& weight) const {
    return sizes_.flat(weight.dims[1]) == Size{number(1)} ? Grouping::depthwise : Grouping::one;
}

/// Groups are known where there is one, or one for each channel, as in the search; the operator keeps its meaning then.
bool Shapes::convolved(Step const& step, Shape& out) {
    auto const channels = step.of_a.dim(1), depth = step.of_b.dim(1);
    if (grouping(step.b) == Grouping::depthwise) {
        if (step.of_b.dim(0) != channels || !sizes_.unify(step.b.dims[0], step.a.dims[1])) return false;
    } else if (depth != channels || !sizes_.unify(step.b.dims[1], step.a.dims[1])) {
        return false;
    } else {
        one_group_.push_back(step.b);
    }
    out = step.a;
    out.dims[1] = step.b.dims[0];
    out.marks = {step.a.marks[0], step.b.marks[0]};
    return true;
}

bool Shapes::joined(Step const& step, std::size_t axis, Shape& out) {
    auto const& [code, a, b, of_a, of_b] = step;
    auto const other = 1 - axis;
    if (!sizes_.unify(a.dims[other], b.dims[other]) || (a.rank == 4 && !unify_images(a, b))) return false;
    out = a;
    out.marks[other] = common(a.marks[other], of_a, of_b, other);
    auto const& cut = a.dims[axis];
    for (auto const& mark : b.marks[axis]) {
        auto moved = cut;
        moved.insert(moved.end(), mark.begin(), mark.end());
        out.marks[axis].push_back(moved);
    }
    out.marks[axis].push_back(cut);
    out.dims[axis].insert(out.dims[axis].end(), b.dims[axis].begin(), b.dims[axis].end());
    return true;
}

/// What is left of a size when its beginning is taken away; false if it does not begin like that.
bool Shapes::without(Size const& prefix, Size const& size, Size& rest) const {
    auto const before = sizes_.flat(prefix), all = sizes_.flat(size);
    if (before.size() >= all.size() || !std::equal(before.begin(), before.end(), all.begin())) return false;
    rest.assign(all.begin() + static_cast<std::ptrdiff_t>(before.size()), all.end());
    return true;
}

bool Shapes::split(Step const& step, std::size_t axis, std::array<Shape, 2>& out) {
    auto const& at = step.of_a.marks[axis];
    auto const& marks = step.a.marks[axis];
    if (marks.size() != at.count || marks.empty()) return false;
    auto const cut = marks.back();
    out = {step.a, step.a};
    out[0].dims[axis] = cut;
    if (!without(cut, step.a.dims[axis], out[1].dims[axis])) return false;
    out[0].marks[axis].clear();
    out[1].marks[axis].clear();
    std::size_t i = 0;
    for (; at.at[i] < at.last(); ++i) out[0].marks[axis].push_back(marks[i]);
    for (; i + 1 < marks.size(); ++i) {
        Size moved;
        if (!without(cut, marks[i], moved)) return false;
        out[1].marks[axis].push_back(moved);
    }
    return true;
}

Shape Shapes::constant(Operator code) {
    auto const size = sizes_.fresh();
    Shape out{.rank = 4, .dims = {size, size}, .image = {number(3), number(3)}, .marks = {}};
    if (code == Operator::pool_kernel) out.dims[1] = {number(1)};
    if (code == Operator::identity_matrix) out.rank = 2;
    if (code != Operator::ones) return out;
    out.dims[1] = sizes_.fresh();
    out.image = {fresh_leaf(), fresh_leaf()};
    return out;
}

bool Shapes::make(Step const& step, std::array<Shape, 2>& out) {
    using enum Operator;
    auto const& row = info(step.code);
    if (row.operands == 0) {
        out[0] = constant(step.code);
        return true;
    }
    if (row.concat_axis >= 0) return joined(step, static_cast<std::size_t>(row.concat_axis), out[0]);
    if (row.outputs == 2) return split(step, split_axis(step.code), out);
    out[0] = step.a;
    switch (step.code) {
    case matmul:
        out[0].dims[1] = step.b.dims[1];
        out[0].marks[1] = step.b.marks[1];
        return sizes_.unify(step.a.dims[1], step.b.dims[0]);
    case add:
    case mul:
        for (std::size_t axis = 0; axis < 2; ++axis)
            out[0].marks[axis] = common(step.a.marks[axis], step.of_a, step.of_b, axis);
        return unify(step.a, step.b);
    case average_pool:
    case max_pool:
        out[0].marks[1].clear();
        return true;
    case enlarge:
        out[0].image = {number(3), number(3)};
        return true;
    case transpose:
    case transpose_copy:
        std::swap(out[0].dims[0], out[0].dims[1]);
        std::swap(out[0].marks[0], out[0].marks[1]);
        return true;
    case scale:
    case relu:
        return true;
    default:
        return convolved(step, out[0]);
    }
}

bool Shapes::add(OperatorGraph const& graph, TensorTable& table, std::vector<Shape>& out) {
    auto const tensors = evaluate(graph, table);
    if (!tensors) return false;
    out.assign(2 * static_cast<std::size_t>(graph.count), {});
    auto const layout_of = [&](Ref ref) {
        return table.layout(is_result(ref) ? (*tensors)[static_cast<std::size_t>(ref - first_result)]
                                           : table.input(ref));
    };
    for (std::size_t op = 0; op < graph.count; ++op) {
        auto const& [code, a, b] = graph.ops[op];
        Step step{.code = code, .a = {}, .b = {}, .of_a = {}, .of_b = {}};
        if (a != no_ref) step.a = of(a, out), step.of_a = layout_of(a);
        if (b != no_ref) step.b = of(b, out), step.of_b = layout_of(b);
        std::array<Shape, 2> made;
        if (!make(step, made)) return false;
        out[2 * op] = made[0];
        out[2 * op + 1] = made[1];
    }
    return true;
}

bool Shapes::keeps_groups() const {
    return std::ranges::all_of(one_group_, [&](Shape const& weight) { return grouping(weight) == Grouping::one; });
}

std::string Shapes::condition() {
    std::string out;
    for (auto const& [slot, shape] : inputs_) {
        if (shape.rank == 0) continue;
        out += fmt::format("{}{} [{}, {}", out.empty() ? "" : ", ", name_of(slot), sizes_.to_text(shape.dims[0]),
                           sizes_.to_text(shape.dims[1]));
        if (shape.rank == 4)
            out += fmt::format(", {}, {}", sizes_.to_text({shape.image[0]}), sizes_.to_text({shape.image[1]}));
        out += "]";
    }
    return out;
}

} // namespace espalier::problems::substitution::proof
