#include "rules.hpp"

#include <numbers>

namespace espalier::model::rules {
namespace {

Formula first() { return Formula::read(0); }
Formula second() { return Formula::read(1); }

/// Before opset 7 the second of two operands begins at dimension `axis` of the first, if `broadcast` says so.
Nest aligned_nest(Call const& call, Element element, Formula const& formula) {
    auto const &dims = call.dims(0), &other = call.dims(1);
    auto const rank = call.rank(0), skip = call.whole("axis", rank - call.rank(1));
    if (call.whole("broadcast", 0) == 0 || skip < 0 || skip + call.rank(1) > rank)
        refuse("its operands {} and {} are not equal", words(dims), words(other));
    Nest nest{.out = {element, dims}, .kept = dims, .reduced = {}, .reads = {}, .body = {}, .epilogue = {}};
    nest.reads = {read_at_loops(0, dims), read_at_loops(1, other, static_cast<std::size_t>(skip))};
    for (std::size_t i = 0; i < other.size(); ++i) {
        if (other[i] == 1)
            nest.reads[1].index[i] = {};
        else if (other[i] != dims[static_cast<std::size_t>(skip) + i])
            refuse("its operands {} and {} do not broadcast", words(dims), words(other));
    }
    nest.body = formula.nodes();
    return nest;
}

Nest pointwise_nest(Call const& call, Element element, Formula const& formula) {
    if (call.opset() < 7 && call.inputs() == 2 && call.dims(0) != call.dims(1))
        return aligned_nest(call, element, formula);
    Dims kept;
    for (std::size_t i = 0; i < call.inputs(); ++i) {
        if (!call.has(i)) continue;
        auto const both = broadcast(kept, call.dims(i));
        if (!both) refuse("its operands {} and {} do not broadcast", words(kept), words(call.dims(i)));
        kept = *both;
    }
    Nest nest{.out = {element, kept}, .kept = kept, .reduced = {}, .reads = {}, .body = {}, .epilogue = {}};
    nest.body = formula.nodes();
    for (std::size_t i = 0; i < call.inputs(); ++i)
        if (call.has(i)) nest.reads.push_back(read_broadcast(i, call.dims(i), kept));
    return nest;
}

void expect_same_elements(Call const& call) {
    for (std::size_t i = 1; i < call.inputs(); ++i)
        if (call.has(i) && call.type(i).element != call.type(0).element)
            refuse("its operands are of different elements, {} and {}", info(call.type(0).element).name,
                   info(call.type(i).element).name);
}

Formula sigmoid_of(Formula const& of) { return 1.0 / (1.0 + apply(Function::exp, apply(Function::neg, of))); }
Formula between(Formula const& low, Formula const& of, Formula const& high) { return minimum(maximum(of, low), high); }

} // namespace

Definition pointwise_as(Call const& call, Element out, Formula const& formula) {
    expect_same_elements(call);
    return single(call.inputs(), pointwise_nest(call, out, formula));
}
Definition pointwise(Call const& call, Formula const& formula) {
    return pointwise_as(call, call.type(0).element, formula);
}

Definition greater(Call const& call) {
    return pointwise_as(call, Element::boolean, Formula::apply(Function::less, second(), first()));
}
namespace {
/// What is not a number is in no order with anything.
Formula not_above(Formula const& a, Formula const& b) {
    return Formula::apply(Function::either, Formula::apply(Function::less, a, b),
                          Formula::apply(Function::equal, a, b));
}
} // namespace
Definition less_or_equal(Call const& call) {
    return pointwise_as(call, Element::boolean, not_above(first(), second()));
}
Definition greater_or_equal(Call const& call) {
    return pointwise_as(call, Element::boolean, not_above(second(), first()));
}
Definition exclusive_or(Call const& call) {
    return pointwise_as(call, Element::boolean,
                        apply(Function::negation, Formula::apply(Function::equal, first(), second())));
}

Definition mean_of_many(Call const& call) {
    auto sum = first();
    for (std::size_t i = 1; i < call.inputs(); ++i) sum = sum + Formula::read(i);
    return pointwise(call, sum / static_cast<double>(call.inputs()));
}

Definition relu(Call const& call) { return pointwise(call, maximum(first(), 0.0)); }
Definition leaky_relu(Call const& call) {
    return pointwise(call, maximum(first(), 0.0) + call.real("alpha", 0.01) * minimum(first(), 0.0));
}
/// Before opset 7 slopes are those of channels.
Definition parametric_relu(Call const& call) {
    auto const &dims = call.dims(0), &slopes = call.dims(1);
    auto const is_of_channels = call.opset() < 7 && dims.size() > 1 && slopes == Dims{dims[1]};
    if (!is_of_channels && (broadcast(dims, slopes) != dims || (call.opset() < 7 && element_count(slopes) != 1)))
        refuse("its slopes do not broadcast to its operand");
    expect_same_elements(call);
    Nest nest{.out = call.type(0), .kept = dims, .reduced = {}, .reads = {}, .body = {}, .epilogue = {}};
    nest.reads = {read_at_loops(0, dims),
                  is_of_channels ? read_at_loops(1, slopes, 1) : read_broadcast(1, slopes, dims)};
    nest.body = (maximum(first(), 0.0) + second() * minimum(first(), 0.0)).nodes();
    return single(2, nest);
}
Definition elu(Call const& call) {
    return pointwise(call, maximum(first(), 0.0) +
                               call.real("alpha", 1) * (apply(Function::exp, minimum(first(), 0.0)) - 1.0));
}
Definition selu(Call const& call) {
    auto const alpha = call.real("alpha", 1.67326319217681884765625);
    auto const gamma = call.real("gamma", 1.05070102214813232421875);
    return pointwise(call,
                     gamma * (maximum(first(), 0.0) + alpha * (apply(Function::exp, minimum(first(), 0.0)) - 1.0)));
}
Definition sigmoid(Call const& call) { return pointwise(call, sigmoid_of(first())); }
Definition hard_sigmoid(Call const& call) {
    return pointwise(call, between(0.0, call.real("alpha", 0.2) * first() + call.real("beta", 0.5), 1.0));
}
Definition hard_swish(Call const& call) { return pointwise(call, first() * between(0.0, first() / 6.0 + 0.5, 1.0)); }
/// log(1 + exp(x)) without an overflow.
Definition softplus(Call const& call) {
    auto const below = apply(Function::exp, apply(Function::neg, apply(Function::abs, first())));
    return pointwise(call, maximum(first(), 0.0) + apply(Function::log, 1.0 + below));
}
Definition softsign(Call const& call) { return pointwise(call, first() / (1.0 + apply(Function::abs, first()))); }
Definition gelu(Call const& call) {
    auto const how = call.text("approximate", "none");
    if (how == "none")
        return pointwise(call, 0.5 * first() * (1.0 + apply(Function::erf, first() * (1 / std::numbers::sqrt2))));
    if (how != "tanh") refuse("it is approximated by '{}'", how);
    auto const root = std::numbers::sqrt2 * std::numbers::inv_sqrtpi;
    return pointwise(call, 0.5 * first() *
                               (1.0 + apply(Function::tanh, root * first() * (1.0 + 0.044715 * first() * first()))));
}

Definition clip(Call const& call) {
    auto const is_of_attributes = call.opset() < 11;
    auto out = first();
    std::size_t read = 1;
    for (auto const& [name, input, function] :
         {std::tuple("min", std::size_t{1}, Function::maximum), std::tuple("max", std::size_t{2}, Function::minimum)}) {
        if (is_of_attributes && call.has_attribute(name)) out = Formula::apply(function, out, call.real(name, 0));
        if (is_of_attributes || !call.has(input)) continue;
        if (element_count(call.dims(input)) != 1 || call.rank(input) > call.rank(0))
            refuse("its bound '{}' is not a single value", call.node().input(input));
        out = Formula::apply(function, out, Formula::read(read++));
    }
    return pointwise(call, out);
}

Definition power(Call const& call) {
    auto const base = call.type(0).element, exponent = call.type(1).element;
    if (!is_real(exponent) && (info(exponent).size_bytes == 0 || exponent == Element::boolean))
        refuse("its exponent is of {}", info(exponent).name);
    auto const to_real = [](Formula const& of, Element element) {
        return is_real(element) ? of : apply(Function::to_real, of);
    };
    auto out = Formula::apply(Function::pow, first(), second());
    if (is_real(base) || is_real(exponent))
        out = Formula::apply(Function::pow, to_real(first(), base), to_real(second(), exponent));
    if (!is_real(base) && is_real(exponent)) out = apply(Function::to_whole, out);
    return single(call.inputs(), pointwise_nest(call, base, out));
}

Definition where(Call const& call) {
    if (call.type(0).element != Element::boolean) refuse("its condition is not boolean");
    if (call.type(1).element != call.type(2).element) refuse("its operands are of different elements");
    return single(call.inputs(), pointwise_nest(call, call.type(1).element,
                                                Formula::apply(Function::choose, first(), second(), Formula::read(2))));
}

namespace {

Definition cast_to(Call const& call, Element to, std::size_t operands) {
    auto const from = call.type(0).element;
    if (to == Element::text || to == Element::c64 || to == Element::c128 || to == Element::none)
        refuse("it makes elements of {}", info(to).name);
    if (is_real(to) && from == Element::u64) refuse("it makes real numbers of u64");
    auto value = first();
    if (to == Element::boolean)
        value = apply(Function::is_true, first());
    else if (is_real(from) && !is_real(to))
        value = apply(Function::to_whole, first());
    else if (!is_real(from) && is_real(to))
        value = apply(Function::to_real, first());
    auto const& dims = call.dims(0);
    Nest nest{.out = {to, dims}, .kept = dims, .reduced = {}, .reads = {}, .body = {}, .epilogue = {}};
    nest.reads = {read_at_loops(0, dims)};
    nest.body = value.nodes();
    return single(operands, nest);
}

} // namespace

Definition cast(Call const& call) {
    auto const to = call.whole("to", 0);
    if (to < 0 || to >= static_cast<std::int64_t>(elements.size())) refuse("it makes elements of type {}", to);
    return cast_to(call, static_cast<Element>(to), call.inputs());
}
Definition cast_like(Call const& call) { return cast_to(call, call.type(1).element, call.inputs()); }

/// (x - mean) * (scale / sqrt(variance + eps)) + bias, each for a channel.
Definition batch_normalization(Call const& call) {
    if (call.whole("training_mode", 0) != 0 || (call.opset() < 7 && call.whole("is_test", 0) == 0))
        refuse("it is in training mode");
    if (call.whole("spatial", 1) != 1) refuse("its statistics are not those of channels");
    for (std::size_t i = 1; i < call.node().outputs.size(); ++i)
        if (call.wants(i)) refuse("its statistics are used");
    auto const& dims = call.dims(0);
    if (dims.size() < 2) refuse("its operand has no channels");
    Known const channels{call.type(0).element, {dims[1]}};
    for (std::size_t i = 1; i < 5; ++i)
        if (call.dims(i) != channels.dims) refuse("its operand {} is not of a number for a channel", i);
    Nest factor{.out = channels, .kept = channels.dims, .reduced = {}, .reads = {}, .body = {}, .epilogue = {}};
    factor.reads = {read_at_loops(1, channels.dims), read_at_loops(4, channels.dims)};
    factor.body = (first() / apply(Function::sqrt, second() + call.real("epsilon", 1e-5))).nodes();
    Nest nest{.out = call.type(0), .kept = dims, .reduced = {}, .reads = {}, .body = {}, .epilogue = {}};
    nest.reads.push_back(read_at_loops(0, dims));
    for (std::size_t const of_channels : {3u, 5u, 2u}) // mean, factor, bias
        nest.reads.push_back(read_at_loops(of_channels, channels.dims, 1));
    nest.body = ((first() - second()) * Formula::read(2) + Formula::read(3)).nodes();
    return last_of(5, {factor, nest});
}

} // namespace espalier::model::rules
