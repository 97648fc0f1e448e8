#include "proof_elements.hpp"

#include <algorithm>

namespace espalier::problems::substitution::proof {
namespace {

Sum one() { return {Term{}}; }

Sum factor(Atom atom) {
    Term term;
    term.atoms.push_back(std::move(atom));
    return {term};
}

bool has_relu(Operator code) { return code >= Operator::conv3x3_relu && code <= Operator::conv1x3_relu; }

} // namespace

Along Elements::along(Size const& flat, std::size_t block) {
    auto const leaf = flat[block];
    if (leaf == number(1)) return {static_cast<std::int32_t>(block), no_var};
    return {static_cast<std::int32_t>(block), variables_.fresh({.leaf = leaf})};
}

Sum Elements::element(Ref ref, Position const& at) {
    if (!is_result(ref)) return input(ref, at);
    return made(graph_.ops[static_cast<std::size_t>(maker_of(ref))], (ref - first_result) % 2, at);
}

Sum Elements::input(Ref slot, Position const& at) {
    auto const& shape = shapes_.input(slot);
    Atom atom{.kind = Atom::Kind::input, .slot = slot, .at = at.at, .row = at.row, .column = at.column, .argument = {}};
    if (shape.rank == 0) atom.at = {};
    atom.is_image = shape.rank == 4;
    if (atom.is_image) atom.support = {shapes_.leaf(shape.image[0]), shapes_.leaf(shape.image[1])};
    return factor(std::move(atom));
}

/// 0 outside of the image, whatever the sum is there.
Sum Elements::within(Sum sum, Shape const& shape, Position const& at) const {
    guard(sum, {shapes_.leaf(shape.image[0]), at.row});
    guard(sum, {shapes_.leaf(shape.image[1]), at.column});
    return sum;
}

Sum Elements::matrix_product(GraphOp const& op, Position const& at) {
    Sum out;
    auto const inner = shapes_.flat(shapes_.of(op.a, made_).dims[1]);
    for (std::size_t block = 0; block < inner.size(); ++block) {
        auto const k = along(inner, block);
        auto term = product(element(op.a, {{at.at[0], k}, {}, {}}), element(op.b, {{k, at.at[1]}, {}, {}}));
        if (k.var != no_var) bind(term, k.var);
        out.insert(out.end(), term.begin(), term.end());
    }
    return out;
}

Sum Elements::convolved(GraphOp const& op, Position const& at) {
    auto const& x = shapes_.of(op.a, made_);
    auto const& w = shapes_.of(op.b, made_);
    auto const i = variables_.fresh({.kind = Variable::Kind::row, .leaf = {}});
    auto const j = variables_.fresh({.kind = Variable::Kind::column, .leaf = {}});
    auto const row = plus(at.row, i), column = plus(at.column, j);
    Sum sum;
    if (shapes_.grouping(w) == Grouping::depthwise) {
        sum = product(element(op.b, {{at.at[1], {}}, {i}, {j}}), element(op.a, {at.at, row, column}));
    } else {
        auto const channels = shapes_.flat(x.dims[1]);
        for (std::size_t block = 0; block < channels.size(); ++block) {
            auto const c = along(channels, block);
            auto term = product(element(op.b, {{at.at[1], c}, {i}, {j}}), element(op.a, {{at.at[0], c}, row, column}));
            if (c.var != no_var) bind(term, c.var);
            sum.insert(sum.end(), term.begin(), term.end());
        }
    }
    bind(sum, i);
    bind(sum, j);
    sum = within(std::move(sum), x, at);
    return has_relu(op.code) ? applied(Atom::Kind::relu, std::move(sum)) : sum;
}

Sum Elements::summed_window(GraphOp const& op, Position const& at) {
    auto const i = variables_.fresh({.kind = Variable::Kind::row, .leaf = {}});
    auto const j = variables_.fresh({.kind = Variable::Kind::column, .leaf = {}});
    auto sum = element(op.a, {at.at, plus(at.row, i), plus(at.column, j)});
    guard(sum, {number(3), {i}});
    guard(sum, {number(3), {j}});
    bind(sum, i);
    bind(sum, j);
    return within(std::move(sum), shapes_.of(op.a, made_), at);
}

Sum Elements::largest_of_window(GraphOp const& op, Position const& at) {
    if (windows_.size() == depth_)
        windows_.emplace_back(variables_.fresh({.kind = Variable::Kind::row, .leaf = {}}),
                              variables_.fresh({.kind = Variable::Kind::column, .leaf = {}}));
    auto const [i, j] = windows_[depth_++];
    auto sum = applied(Atom::Kind::max_pool, element(op.a, {at.at, plus(at.row, i), plus(at.column, j)}));
    --depth_;
    return within(std::move(sum), shapes_.of(op.a, made_), at);
}

/// Of a concatenation: the element of the operand that has it.
Sum Elements::part(GraphOp const& op, Position at) {
    auto const axis = static_cast<std::size_t>(info(op.code).concat_axis);
    auto const blocks = static_cast<std::int32_t>(shapes_.blocks(shapes_.of(op.a, made_).dims[axis]));
    if (at.at[axis].block < blocks) return element(op.a, at);
    at.at[axis].block -= blocks;
    return element(op.b, at);
}

Sum Elements::constant(Operator code, Shape const&, Position const& at) {
    if (code == Operator::ones || code == Operator::pool_kernel) return one();
    auto out = factor({.kind = Atom::Kind::same, .at = at.at, .row = {}, .column = {}, .argument = {}});
    if (code == Operator::identity_matrix) return out;
    return product(out, factor({.kind = Atom::Kind::middle, .row = at.row, .column = at.column, .argument = {}}));
}

Sum Elements::made(GraphOp const& op, int output, Position const& at) {
    using enum Operator;
    auto const& row = info(op.code);
    if (row.operands == 0) {
        auto const which = static_cast<std::size_t>(std::ranges::find(graph_.ops, op) - graph_.ops.begin());
        auto const& shape = made_[2 * which];
        auto sum = constant(op.code, shape, at);
        return op.code == ones || op.code == pool_kernel ? within(std::move(sum), shape, at) : sum;
    }
    if (row.concat_axis >= 0) return part(op, at);
    if (row.outputs == 2) {
        auto inner = at;
        auto const axis = op.code == split_0 ? 0u : 1u;
        auto const which = static_cast<std::size_t>(std::ranges::find(graph_.ops, op) - graph_.ops.begin());
        if (output == 1) inner.at[axis].block += static_cast<std::int32_t>(shapes_.blocks(made_[2 * which].dims[axis]));
        return element(op.a, inner);
    }
    switch (op.code) {
    case matmul:
        return matrix_product(op, at);
    case add: {
        auto sum = element(op.a, at);
        auto const more = element(op.b, at);
        sum.insert(sum.end(), more.begin(), more.end());
        return sum;
    }
    case mul:
        return product(element(op.a, at), element(op.b, at));
    case scale:
        return product(element(op.a, at), element(op.b, {}));
    case relu:
        return applied(Atom::Kind::relu, element(op.a, at));
    case average_pool:
        return summed_window(op, at);
    case max_pool:
        return largest_of_window(op, at);
    case enlarge:
        return element(op.a, at);
    case transpose:
    case transpose_copy:
        return element(op.a, {{at.at[1], at.at[0]}, {}, {}});
    default:
        return convolved(op, at);
    }
}

} // namespace espalier::problems::substitution::proof
