#include "rules.hpp"

#include <algorithm>
#include <numeric>

namespace espalier::model::rules {
namespace {

Formula const& as_read() {
    static Formula const out = Formula::read(0);
    return out;
}

Dims with_ones(Dims dims, std::vector<std::size_t> const& axes) {
    for (auto const axis : axes) dims[axis] = 1;
    return dims;
}
Dims without(Dims const& dims, std::vector<std::size_t> const& axes) {
    Dims out;
    for (std::size_t i = 0; i < dims.size(); ++i)
        if (!std::ranges::binary_search(axes, i)) out.push_back(dims[i]);
    return out;
}
std::vector<std::size_t> from_on(std::size_t axis, std::size_t rank) {
    std::vector<std::size_t> out(rank - axis);
    std::iota(out.begin(), out.end(), axis);
    return out;
}

/// Value by value of `of` and of what was made of its rows.
Nest along_rows(Known const& of, std::vector<Read> reads, Formula const& formula) {
    Nest nest{.out = of, .kept = of.dims, .reduced = {}, .reads = std::move(reads), .body = {}, .epilogue = {}};
    nest.body = formula.nodes();
    return nest;
}
/// A nest whose only result is what it reduces `formula` to along these axes.
Nest reduced_rows(Known const& of, std::vector<std::size_t> const& axes, std::vector<Read> const& reads,
                  Reduction const& reduction) {
    auto nest = reduction_nest(0, of, axes, reduction);
    auto const moved = nest.reads[0].index;
    nest.reads = reads;
    for (auto& read : nest.reads)
        for (std::size_t i = 0; i < read.index.size(); ++i)
            if (!read.index[i].steps.empty()) read.index[i] = moved[i];
    return nest;
}

Definition reduce(Call const& call, Reduction const& reduction) {
    auto const& type = call.type(0);
    if (reduction.is_smooth && !is_real(type.element)) refuse("its operand is of {}", info(type.element).name);
    auto const given = call.attribute_or_input("axes", 1).value_or(Wholes{});
    if (given.empty() && call.whole("noop_with_empty_axes", 0) != 0) {
        if (reduction.reducer != Reducer::sum || reduction.is_smooth || reduction.before.nodes().size() > 1)
            refuse("it reduces over no axis");
        return single(call.inputs(), view_nest(0, type));
    }
    auto const axes = given.empty() ? from_on(0, type.dims.size()) : call.axes(given, call.rank(0));
    auto nest = reduction_nest(0, type, axes, reduction);
    if (!is_real(type.element) && reduction.reducer != Reducer::sum && element_count(nest.reduced) == 0)
        refuse("it reduces no whole numbers at all");
    if (call.whole("keepdims", 1) == 0) nest.out.dims = without(type.dims, axes);
    return single(call.inputs(), nest);
}

Definition arg_extremum(Call const& call, Reducer first, Reducer last) {
    auto const axis = call.axis(call.whole("axis", 0), call.rank(0));
    auto nest =
        reduction_nest(0, call.type(0), {axis}, {.reducer = call.whole("select_last_index", 0) != 0 ? last : first});
    if (nest.reduced[0] == 0) refuse("it looks for the largest of nothing");
    nest.out.element = Element::i64;
    if (call.whole("keepdims", 1) == 0) nest.out.dims = without(call.dims(0), {axis});
    return single(call.inputs(), nest);
}

/// Before opset 13 all axes from `axis` on are one.
std::vector<std::size_t> softmax_axes(Call const& call) {
    auto const axis = call.axis(call.whole("axis", call.opset() < 13 ? 1 : -1), call.rank(0));
    return call.opset() < 13 ? from_on(axis, call.dims(0).size()) : std::vector{axis};
}

/// exp(x - largest), and their sum.
struct SoftmaxParts {
    std::vector<Nest> nests;
    Read value, largest, sum;
};
SoftmaxParts softmax_parts(Call const& call) {
    auto const& type = call.type(0);
    auto const axes = softmax_axes(call);
    auto const rows = with_ones(type.dims, axes);
    SoftmaxParts out{.nests = {},
                     .value = read_at_loops(0, type.dims),
                     .largest = read_broadcast(1, rows, type.dims),
                     .sum = read_broadcast(2, rows, type.dims)};
    out.nests.push_back(reduction_nest(0, type, axes, {.reducer = Reducer::maximum}));
    out.nests.push_back(reduced_rows(type, axes, {out.value, out.largest},
                                     {.before = apply(Function::exp, Formula::read(0) - Formula::read(1))}));
    return out;
}

/// (x - mean) / sqrt(variance + eps) along `axes`, times a scale plus a bias. The mean is the first nest and one by the
/// deviation the second, the result the third.
std::vector<Nest> normalization(Call const& call, std::vector<std::size_t> const& axes, Read const& scale,
                                std::optional<Read> const& bias) {
    auto const& type = call.type(0);
    auto const rows = with_ones(type.dims, axes);
    auto const value = read_at_loops(0, type.dims);
    auto const mean = read_broadcast(call.inputs(), rows, type.dims);
    auto const inverse = read_broadcast(call.inputs() + 1, rows, type.dims);
    auto const centred = Formula::read(0) - Formula::read(1);
    std::vector<Nest> out;
    out.push_back(reduction_nest(0, type, axes, {.after = Formula::reduced() / Formula::count()}));
    auto const variance = Formula::reduced() / Formula::count() + call.real("epsilon", 1e-5);
    out.push_back(reduced_rows(
        type, axes, {value, mean},
        {.before = centred * centred, .after = apply(Function::reciprocal, apply(Function::sqrt, variance))}));
    auto result = centred * Formula::read(2) * Formula::read(3);
    std::vector reads{value, mean, inverse, scale};
    if (bias) {
        reads.push_back(*bias);
        result = result + Formula::read(4);
    }
    out.push_back(along_rows(type, reads, result));
    return out;
}

} // namespace

Nest reduction_nest(std::size_t source, Known const& of, std::vector<std::size_t> const& axes,
                    Reduction const& reduction) {
    auto const kept = with_ones(of.dims, axes);
    Nest nest{.out = {of.element, kept},
              .kept = kept,
              .reduced = {},
              .reducer = reduction.reducer,
              .reads = {read_at_loops(source, of.dims)},
              .body = reduction.before.nodes(),
              .epilogue = {}};
    for (auto const axis : axes) {
        nest.reads[0].index[axis] = at_loop(kept.size() + nest.reduced.size());
        nest.reduced.push_back(of.dims[axis]);
    }
    if (reduction.after.nodes().size() > 1) nest.epilogue = reduction.after.nodes();
    return nest;
}

Definition reduce_sum(Call const& call) { return reduce(call, {}); }
Definition reduce_mean(Call const& call) {
    return reduce(call, {.after = Formula::reduced() / Formula::count(), .is_smooth = true});
}
Definition reduce_max(Call const& call) { return reduce(call, {.reducer = Reducer::maximum}); }
Definition reduce_min(Call const& call) { return reduce(call, {.reducer = Reducer::minimum}); }
Definition reduce_product(Call const& call) { return reduce(call, {.reducer = Reducer::product}); }
Definition reduce_l1(Call const& call) { return reduce(call, {.before = apply(Function::abs, as_read())}); }
Definition reduce_l2(Call const& call) {
    return reduce(
        call, {.before = as_read() * as_read(), .after = apply(Function::sqrt, Formula::reduced()), .is_smooth = true});
}
Definition reduce_sum_of_squares(Call const& call) { return reduce(call, {.before = as_read() * as_read()}); }
Definition reduce_log_sum(Call const& call) {
    return reduce(call, {.after = apply(Function::log, Formula::reduced()), .is_smooth = true});
}
/// log(sum of exp(x - largest)) + largest.
Definition reduce_log_sum_exp(Call const& call) {
    auto out = reduce(call, {.reducer = Reducer::maximum, .is_smooth = true});
    auto const& largest = out.nests[0];
    auto const& read = largest.reads[0];
    auto sum = largest;
    sum.reducer = Reducer::sum;
    Read most{.source = out.source_of(0), .shape = largest.kept, .index = {}};
    for (std::size_t i = 0; i < largest.kept.size(); ++i)
        most.index.push_back(largest.kept[i] == 1 ? Position{} : at_loop(i));
    sum.reads = {read, most};
    sum.body = apply(Function::exp, Formula::read(0) - Formula::read(1)).nodes();
    sum.epilogue = (apply(Function::log, Formula::reduced()) + Formula::read(1)).nodes();
    return last_of(out.operands, {largest, sum});
}
Definition arg_max(Call const& call) { return arg_extremum(call, Reducer::first_largest, Reducer::last_largest); }
Definition arg_min(Call const& call) { return arg_extremum(call, Reducer::first_smallest, Reducer::last_smallest); }

Definition softmax(Call const& call) {
    auto parts = softmax_parts(call);
    auto const power = apply(Function::exp, Formula::read(0) - Formula::read(1));
    parts.nests.push_back(along_rows(call.type(0), {parts.value, parts.largest, parts.sum}, power / Formula::read(2)));
    return last_of(1, parts.nests);
}
Definition log_softmax(Call const& call) {
    auto parts = softmax_parts(call);
    auto const value = Formula::read(0) - Formula::read(1) - apply(Function::log, Formula::read(2));
    parts.nests.push_back(along_rows(call.type(0), {parts.value, parts.largest, parts.sum}, value));
    return last_of(1, parts.nests);
}

Definition layer_normalization(Call const& call) {
    auto const& type = call.type(0);
    auto const axis = call.axis(call.whole("axis", -1), call.rank(0));
    for (std::size_t i = 1; i < call.inputs(); ++i)
        if (call.has(i) && broadcast(type.dims, call.dims(i)) != type.dims)
            refuse("its operand {} does not broadcast to the first", i);
    std::optional<Read> bias;
    if (call.has(2)) bias = read_broadcast(2, call.dims(2), type.dims);
    Definition out{.operands = call.inputs(), .nests = {}, .outputs = {}};
    out.nests = normalization(call, from_on(axis, type.dims.size()), read_broadcast(1, call.dims(1), type.dims), bias);
    for (std::size_t const nest : {2u, 0u, 1u}) out.outputs.emplace_back(nest);
    return out;
}

/// Over the spatial dimensions of every channel.
Definition instance_normalization(Call const& call) {
    auto const& dims = call.dims(0);
    if (dims.size() < 3) refuse("its operand has no spatial dimensions");
    for (std::size_t i = 1; i < 3; ++i)
        if (call.dims(i) != Dims{dims[1]}) refuse("its operand {} is not of a number for a channel", i);
    return last_of(call.inputs(), normalization(call, from_on(2, dims.size()), read_at_loops(1, {dims[1]}, 1),
                                                read_at_loops(2, {dims[1]}, 1)));
}

} // namespace espalier::model::rules
