#include "rules.hpp"

#include "array.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

namespace espalier::model::rules {
namespace {

Definition viewed(Call const& call, Dims const& dims) {
    auto const& type = call.type(0);
    if (element_count(dims) != element_count(type.dims))
        refuse("{} has not as many elements as {}", words(dims), words(type.dims));
    return single(call.inputs(), view_nest(0, {type.element, dims}));
}

Nest moving_nest(Known const& out, Dims const& kept, std::vector<Read> reads) {
    Nest nest{.out = out, .kept = kept, .reduced = {}, .reads = std::move(reads), .body = {}, .epilogue = {}};
    nest.body = Formula::read(nest.reads.size() - 1).nodes();
    return nest;
}

TensorPtr wholes_tensor(Wholes const& values, Dims const& dims) {
    Array out{.element = Element::i64, .dims = dims, .reals = {}, .wholes = values, .texts = {}};
    return std::make_shared<Tensor const>(to_tensor(out));
}
Definition data(Call const& call, TensorPtr tensor) {
    Definition out{.operands = call.inputs(), .nests = {}, .outputs = {}};
    out.outputs.emplace_back(std::move(tensor));
    return out;
}

} // namespace

Definition identity(Call const& call) { return viewed(call, call.dims(0)); }

Definition dropout(Call const& call) {
    if (call.wants(1)) refuse("its mask is used");
    if (call.opset() < 7 && call.whole("is_test", 0) == 0) refuse("it is in training mode");
    if (call.opset() >= 12 && call.has(2) && call.constant(2) != Wholes{0}) refuse("it is in training mode");
    return viewed(call, call.dims(0));
}

/// 0 is the size that is there already (unless `allowzero`), -1 what is left.
Definition reshape(Call const& call) {
    auto out = Call::moderate(call.constant(1));
    auto const& dims = call.dims(0);
    auto const allows_zero = call.whole("allowzero", 0) != 0;
    std::int64_t known = 1;
    std::optional<std::size_t> open;
    for (std::size_t i = 0; i < out.size(); ++i) {
        if (out[i] == 0 && !allows_zero) {
            if (i >= dims.size()) refuse("its shape keeps a dimension that its operand does not have");
            out[i] = dims[i];
        }
        if (out[i] < -1 || (out[i] == -1 && open)) refuse("its shape {} is not one", words(out));
        if (out[i] == -1)
            open = i;
        else if (__builtin_mul_overflow(known, out[i], &known))
            refuse("its shape {} is larger than any tensor", words(out));
    }
    if (open && known == 0) refuse("its shape {} leaves a size open", words(out));
    if (open) out[*open] = element_count(dims) / known;
    return viewed(call, out);
}

Definition flatten(Call const& call) {
    auto const& dims = call.dims(0);
    auto const given = call.whole("axis", 1);
    auto const axis = given == call.rank(0) ? dims.size() : call.axis(given, call.rank(0));
    auto const middle = dims.begin() + static_cast<std::ptrdiff_t>(axis);
    return viewed(call, {element_count({dims.begin(), middle}), element_count({middle, dims.end()})});
}

Definition squeeze(Call const& call) {
    auto const& dims = call.dims(0);
    auto const given = call.attribute_or_input("axes", 1);
    auto const axes = given ? call.axes(*given, call.rank(0)) : std::vector<std::size_t>{};
    Dims out;
    for (std::size_t i = 0; i < dims.size(); ++i) {
        auto const is_named = std::ranges::binary_search(axes, i);
        if (is_named && dims[i] != 1) refuse("it removes dimension {}, which has size {}", i, dims[i]);
        if (given ? !is_named : dims[i] != 1) out.push_back(dims[i]);
    }
    return viewed(call, out);
}

Definition unsqueeze(Call const& call) {
    auto const given = call.attribute_or_input("axes", 1);
    if (!given) refuse("it has no axes");
    auto const rank = call.dims(0).size() + given->size();
    auto const axes = call.axes(*given, static_cast<std::int64_t>(rank));
    Dims out;
    for (std::size_t i = 0, from = 0; i < rank; ++i)
        out.push_back(std::ranges::binary_search(axes, i) ? 1 : call.dims(0)[from++]);
    return viewed(call, out);
}

Definition transpose(Call const& call) {
    auto const& type = call.type(0);
    Wholes order(type.dims.size());
    std::iota(order.rbegin(), order.rend(), 0);
    order = call.wholes("perm").value_or(order);
    if (order.size() != type.dims.size() || call.axes(order, call.rank(0)).size() != order.size())
        refuse("its permutation is not one of {} dimensions", type.dims.size());
    Known out{type.element, {}};
    Read read{.source = 0, .shape = type.dims, .index = std::vector<Position>(order.size())};
    for (std::size_t i = 0; i < order.size(); ++i) {
        auto const from = call.axis(order[i], call.rank(0));
        out.dims.push_back(type.dims[from]);
        read.index[from] = at_loop(i);
    }
    return single(1, moving_nest(out, out.dims, {read}));
}

Definition expand(Call const& call) {
    auto const& type = call.type(0);
    auto const out = broadcast(type.dims, Call::moderate(call.constant(1)));
    if (!out || std::ranges::any_of(*out, [](auto size) { return size < 0; }))
        refuse("{} does not broadcast to {}", words(type.dims), words(call.constant(1)));
    return single(2, moving_nest({type.element, *out}, *out, {read_broadcast(0, type.dims, *out)}));
}

Definition tile(Call const& call) {
    auto const& type = call.type(0);
    auto const times = Call::moderate(call.constant(1));
    if (times.size() != type.dims.size()) refuse("it has not a number of repeats for every dimension");
    Known out{type.element, {}};
    Dims kept;
    Read read{.source = 0, .shape = type.dims, .index = {}};
    for (std::size_t i = 0; i < times.size(); ++i) {
        if (times[i] < 0) refuse("it repeats {} times", times[i]);
        kept.push_back(times[i]);
        kept.push_back(type.dims[i]);
        out.dims.push_back(times[i] * type.dims[i]);
        read.index.push_back(at_loop(2 * i + 1));
    }
    return single(2, moving_nest(out, kept, {read}));
}

/// The first operand that has an element there: what is outside of one is what the one before gives.
Definition concat(Call const& call) {
    auto type = call.type(0);
    if (!call.has_attribute("axis")) refuse("it has no axis");
    auto const axis = call.axis(call.whole("axis", 0), call.rank(0));
    type.dims[axis] = 0;
    for (std::size_t i = 0; i < call.inputs(); ++i) {
        auto other = call.type(i);
        if (other.dims.size() != type.dims.size()) refuse("its operands are of different ranks");
        type.dims[axis] += other.dims[axis];
        other.dims[axis] = type.dims[axis];
        if (other != type) refuse("its operands do not fit");
    }
    std::vector<Read> reads;
    std::int64_t from = 0;
    for (std::size_t i = 0; i < call.inputs(); ++i) {
        auto read = read_at_loops(i, call.dims(i));
        read.index[axis].offset = -from;
        from += call.dims(i)[axis];
        read.outside = i == 0 ? Outside::zero : Outside::other;
        read.other = i == 0 ? 0 : i - 1;
        reads.push_back(read);
    }
    return single(call.inputs(), moving_nest(type, type.dims, reads));
}

namespace {

Wholes split_sizes(Call const& call, std::int64_t whole) {
    if (auto const given = call.attribute_or_input("split", 1)) return Call::moderate(*given);
    auto const parts = static_cast<std::int64_t>(call.node().outputs.size());
    if (call.whole("num_outputs", parts) != parts) refuse("it has {} outputs, which is not its num_outputs", parts);
    if (whole % parts != 0 && !call.has_attribute("num_outputs"))
        refuse("its {} outputs do not divide {}", parts, whole);
    auto const size = (whole + parts - 1) / parts;
    Wholes out(static_cast<std::size_t>(parts), size);
    out.back() = whole - (parts - 1) * size;
    return out;
}

} // namespace

Definition split(Call const& call) {
    auto const& type = call.type(0);
    auto const axis = call.axis(call.whole("axis", 0), call.rank(0));
    auto const sizes = split_sizes(call, type.dims[axis]);
    Definition out{.operands = call.inputs(), .nests = {}, .outputs = {}};
    std::int64_t from = 0;
    for (auto const size : sizes) {
        if (size < 0) refuse("a part of it has size {}", size);
        auto part = type;
        part.dims[axis] = size;
        auto read = read_at_loops(0, type.dims);
        read.index[axis].offset = from;
        from += size;
        out.outputs.emplace_back(out.nests.size());
        out.nests.push_back(moving_nest(part, part.dims, {read}));
    }
    if (from != type.dims[axis] || sizes.size() != call.node().outputs.size())
        refuse("its parts {} are not those of {}", words(sizes), type.dims[axis]);
    return out;
}

Definition slice(Call const& call) {
    auto const is_of_attributes = call.opset() < 10;
    auto const list = [&](char const* name, std::size_t input) {
        if (is_of_attributes) return call.wholes(name);
        return call.has(input) ? std::optional(call.constant(input)) : std::nullopt;
    };
    auto const starts = list("starts", 1), ends = list("ends", 2);
    if (!starts || !ends) refuse("it does not say where it begins and ends");
    Wholes all(starts->size());
    std::iota(all.begin(), all.end(), 0);
    auto const axes = list("axes", 3).value_or(all);
    auto const steps = is_of_attributes ? Wholes(all.size(), 1) : list("steps", 4).value_or(Wholes(all.size(), 1));
    if (ends->size() != all.size() || axes.size() != all.size() || steps.size() != all.size())
        refuse("its lists are of different lengths");
    (void)call.axes(axes, call.rank(0));

    auto out = call.type(0);
    auto read = read_at_loops(0, out.dims);
    for (std::size_t i = 0; i < all.size(); ++i) {
        auto const axis = call.axis(axes[i], call.rank(0));
        auto const size = out.dims[axis], step = steps[i];
        if (step == 0 || step == std::numeric_limits<std::int64_t>::min()) refuse("it goes in steps of {}", step);
        auto const from_front = [&](std::int64_t at) { return at < 0 ? at + size : at; };
        auto const least = step > 0 ? std::int64_t{0} : std::int64_t{-1}, most = step > 0 ? size : size - 1;
        auto const from = std::clamp(from_front((*starts)[i]), std::int64_t{0}, std::max<std::int64_t>(most, 0));
        auto const to = std::clamp(from_front((*ends)[i]), least, std::max(size, least));
        auto const span = step > 0 ? to - from : from - to;
        auto const stride = std::abs(step);
        out.dims[axis] = span <= 0 || size == 0 ? 0 : (span - 1) / stride + 1;
        read.index[axis] = at_loop(axis, step, from);
    }
    return single(call.inputs(), moving_nest(out, out.dims, {read}));
}

Definition pad(Call const& call) {
    if (auto const mode = call.text("mode", "constant"); mode != "constant") refuse("it pads by '{}'", mode);
    auto out = call.type(0);
    auto const given = call.opset() < 11 ? call.wholes("pads") : std::optional(call.constant(1));
    if (!given) refuse("it has no pads");
    Wholes axes(out.dims.size());
    std::iota(axes.begin(), axes.end(), 0);
    if (call.opset() >= 18 && call.has(3)) axes = call.constant(3);
    (void)call.axes(axes, call.rank(0));
    Call::moderate(*given);
    if (given->size() != 2 * axes.size()) refuse("it has {} pads for {} axes", given->size(), axes.size());
    auto read = read_at_loops(0, out.dims);
    read.outside = Outside::zero;
    for (std::size_t i = 0; i < axes.size(); ++i) {
        auto const axis = call.axis(axes[i], call.rank(0));
        out.dims[axis] += (*given)[i] + (*given)[i + axes.size()];
        if (out.dims[axis] < 0) refuse("it takes away more than there is");
        read.index[axis].offset = -(*given)[i];
    }
    auto const has_value = call.opset() < 11 ? call.real("value", 0) != 0 : call.has(2);
    if (!has_value) return single(call.inputs(), moving_nest(out, out.dims, {read}));
    if (call.opset() < 11) refuse("it pads by {}", call.real("value", 0));
    if (element_count(call.dims(2)) != 1 || call.type(2).element != out.element)
        refuse("it pads by more than a number");
    read.outside = Outside::other;
    Read const value{.source = 2, .shape = {}, .index = {}};
    return single(call.inputs(), moving_nest(out, out.dims, {value, read}));
}

Definition gather(Call const& call) {
    auto const &type = call.type(0), &indices = call.type(1);
    if (indices.element != Element::i64 && indices.element != Element::i32) refuse("its indices are not whole numbers");
    auto const axis = call.axis(call.whole("axis", 0), call.rank(0));
    auto const at = type.dims.begin() + static_cast<std::ptrdiff_t>(axis);
    Known out{type.element, {type.dims.begin(), at}};
    out.dims.insert(out.dims.end(), indices.dims.begin(), indices.dims.end());
    out.dims.insert(out.dims.end(), at + 1, type.dims.end());
    auto read = read_at_loops(0, type.dims);
    read.index[axis] = {.steps = {}, .offset = 0, .looked_up = 0};
    for (auto i = axis + 1; i < type.dims.size(); ++i) read.index[i] = at_loop(i - 1 + indices.dims.size());
    return single(2, moving_nest(out, out.dims, {read_at_loops(1, indices.dims, axis), read}));
}

Definition constant(Call const& call) {
    auto const& attributes = call.node().attributes;
    if (attributes.size() != 1) refuse("it has not one value");
    auto const& [name, value] = *attributes.begin();
    if (auto const* const tensor = std::get_if<TensorPtr>(&value); tensor && name == "value")
        return data(call, *tensor);
    if (auto const* const one = std::get_if<std::int64_t>(&value); one && name == "value_int")
        return data(call, wholes_tensor({*one}, {}));
    if (auto const* const list = std::get_if<Wholes>(&value); list && name == "value_ints")
        return data(call, wholes_tensor(*list, {static_cast<std::int64_t>(list->size())}));
    std::vector<float> reals;
    if (auto const* const one = std::get_if<float>(&value); one && name == "value_float")
        reals = {*one};
    else if (auto const* const list = std::get_if<std::vector<float>>(&value); list && name == "value_floats")
        reals = *list;
    else
        refuse("its value is '{}'", name);
    Array out{.element = Element::f32, .dims = {}, .reals = {reals.begin(), reals.end()}, .wholes = {}, .texts = {}};
    if (name == "value_floats") out.dims = {static_cast<std::int64_t>(reals.size())};
    return data(call, std::make_shared<Tensor const>(to_tensor(out)));
}

Definition constant_of_shape(Call const& call) {
    auto const dims = Call::moderate(call.constant(0));
    if (std::ranges::any_of(dims, [](auto size) { return size < 0; })) refuse("{} is not a shape", words(dims));
    Known out{Element::f32, dims};
    double number = 0;
    if (auto const found = call.node().attributes.find("value"); found != call.node().attributes.end()) {
        auto const* const tensor = std::get_if<TensorPtr>(&found->second);
        if (!tensor || (*tensor)->size() != 1 || !is_understood((*tensor)->element))
            refuse("its value is not a number");
        auto const value = to_array(**tensor);
        out.element = value.element;
        number = is_real(value.element) ? value.reals[0] : static_cast<double>(value.wholes[0]);
        constexpr std::int64_t exact = std::int64_t{1} << 53;
        if (!is_real(value.element) && std::abs(value.wholes[0] / 2) > exact / 2) refuse("its value is too large");
    }
    Nest nest{.out = out, .kept = dims, .reduced = {}, .reads = {}, .body = {}, .epilogue = {}};
    nest.body = Formula(number).nodes();
    return single(1, nest);
}

Definition shape(Call const& call) {
    auto const& dims = call.dims(0);
    auto const bound = [&](char const* name, std::int64_t otherwise) {
        auto const at = call.whole(name, otherwise);
        return std::clamp<std::int64_t>(at < 0 ? at + call.rank(0) : at, 0, call.rank(0));
    };
    auto const from = bound("start", 0), to = std::max(from, bound("end", call.rank(0)));
    Wholes const out(dims.begin() + from, dims.begin() + to);
    return data(call, wholes_tensor(out, {to - from}));
}
Definition size(Call const& call) { return data(call, wholes_tensor({element_count(call.dims(0))}, {})); }

Definition range(Call const& call) {
    auto const one = [&](std::size_t i) {
        auto const out = Call::moderate(call.constant(i));
        if (out.size() != 1) refuse("its operand {} is not a number", i);
        return out[0];
    };
    auto const start = one(0), limit = one(1), delta = one(2);
    if (delta == 0) refuse("it goes in steps of 0");
    auto const span = delta > 0 ? limit - start : start - limit;
    auto const stride = std::abs(delta);
    Known const out{call.type(0).element, {span <= 0 ? 0 : (span - 1) / stride + 1}};
    Nest nest{.out = out, .kept = out.dims, .reduced = {}, .reads = {}, .body = {}, .epilogue = {}};
    nest.reads = {{.source = 0, .shape = {}, .index = {}}, {.source = 2, .shape = {}, .index = {}}};
    nest.body = (Formula::read(0) + Formula::loop(0) * Formula::read(1)).nodes();
    return single(3, nest);
}

} // namespace espalier::model::rules
