#include "rule_convolutions.hpp"

namespace espalier::problems::rewrite {
namespace {

/// As the attribute has it.
std::int64_t groups_of_replaced(WriteInput const& in) {
    auto const& attributes = in.replaced.convolution->kernel->attributes;
    auto const found = attributes.find("group");
    return found == attributes.end() ? 1 : std::get<std::int64_t>(found->second);
}

Written small_conv(WriteInput const& in, std::int64_t height, std::int64_t width) {
    auto const& image = in.builder.graph().dims(in.in[0].value);
    auto const& weights = in.builder.graph().dims(in.in[1].value);
    if (image.size() != 4 || weights.size() != 4 || weights[2] != height || weights[3] != width) return std::nullopt;
    if (image[1] % weights[1] != 0 || weights[0] % (image[1] / weights[1]) != 0) return std::nullopt;
    auto const h = (height - 1) / 2, w = (width - 1) / 2;
    auto const kernel = make_kernel("Conv", {{"group", image[1] / weights[1]},
                                             {"kernel_shape", std::vector<std::int64_t>{height, width}},
                                             {"pads", std::vector<std::int64_t>{h, w, h, w}}});
    auto const made = in.builder.one(kernel, {in.in[0].value, in.in[1].value});
    if (!made) return std::nullopt;
    return std::vector{Made{*made, InputClass::data, {cuts_along(in.in[0], 0), cuts_along(in.in[1], 0)}}};
}

/// A constant that is computed here.
Made weights_of(WriteInput const& in, model::Array array) {
    return {in.builder.constant(make_constant(std::move(array))), InputClass::weights, {}};
}
model::Array const& array_of(WriteInput const& in, Made const& operand) {
    return in.builder.graph().constant(operand.value)->array;
}

} // namespace

std::vector<std::int64_t> cuts_along(Made const& made, std::size_t axis) {
    return axis < made.cuts.size() ? made.cuts[axis] : std::vector<std::int64_t>{};
}

Written write_conv3x3(WriteInput const& in) { return small_conv(in, 3, 3); }
Written write_conv1x1(WriteInput const& in) { return small_conv(in, 1, 1); }
Written write_conv1x3(WriteInput const& in) { return small_conv(in, 1, 3); }

Written write_enlarge(WriteInput const& in) {
    auto const dims = in.builder.graph().dims(in.in[0].value);
    if (dims.size() != 4 || dims[2] > 3 || dims[3] > 3 || dims[2] % 2 == 0 || dims[3] % 2 == 0) return std::nullopt;
    auto const h = (3 - dims[2]) / 2, w = (3 - dims[3]) / 2;
    std::optional<ValueId> made;
    if (in.builder.graph().opset >= 11)
        made = in.builder.one(make_kernel("Pad"), {in.in[0].value, in.builder.wholes({0, 0, h, w, 0, 0, h, w})});
    else
        made = in.builder.one(make_kernel("Pad", {{"pads", std::vector<std::int64_t>{0, 0, h, w, 0, 0, h, w}}}),
                              {in.in[0].value});
    if (!made) return std::nullopt;
    return std::vector{Made{*made, in.in[0].kind, in.in[0].cuts}};
}

Written write_scale_outputs(WriteInput const& in) {
    auto out = array_of(in, in.in[0]);
    auto const& by = array_of(in, in.in[1]).reals;
    auto const outputs = static_cast<std::size_t>(out.dims[0]);
    if (by.size() != outputs && by.size() != 1) return std::nullopt;
    auto const each = out.reals.size() / outputs;
    for (std::size_t i = 0; i < out.reals.size(); ++i) out.reals[i] *= by.size() == 1 ? by[0] : by[i / each];
    return std::vector{weights_of(in, std::move(out))};
}

Written write_scale_inputs(WriteInput const& in) {
    auto out = array_of(in, in.in[0]);
    auto const& by = array_of(in, in.in[1]).reals;
    if (by.size() == 1) {
        for (auto& x : out.reals) x *= by.front();
        return std::vector{weights_of(in, std::move(out))};
    }
    auto const outputs = static_cast<std::size_t>(out.dims[0]), inputs = static_cast<std::size_t>(out.dims[1]);
    if (by.size() % inputs != 0 || outputs % (by.size() / inputs) != 0) return std::nullopt;
    auto const of_group = outputs / (by.size() / inputs), taps = out.reals.size() / (outputs * inputs);
    for (std::size_t o = 0; o < outputs; ++o)
        for (std::size_t i = 0; i < inputs; ++i)
            for (std::size_t tap = 0; tap < taps; ++tap)
                out.reals[(o * inputs + i) * taps + tap] *= by[o / of_group * inputs + i];
    return std::vector{weights_of(in, std::move(out))};
}

Written write_merge_groups(WriteInput const& in) {
    if (in.replaced.convolution == nullptr) return std::nullopt;
    auto const groups = static_cast<std::size_t>(groups_of_replaced(in));
    auto const& before = array_of(in, in.in[0]);
    auto const outputs = static_cast<std::size_t>(before.dims[0]), inputs = static_cast<std::size_t>(before.dims[1]);
    if (groups % 2 != 0 || outputs % groups != 0) return std::nullopt;
    auto const of_group = outputs / groups, taps = before.reals.size() / (outputs * inputs);
    auto out = before;
    out.dims[1] *= 2;
    out.reals.assign(2 * before.reals.size(), 0);
    for (std::size_t o = 0; o < outputs; ++o) {
        auto const first = o / of_group % 2 * inputs;
        for (std::size_t i = 0; i < inputs; ++i)
            for (std::size_t tap = 0; tap < taps; ++tap)
                out.reals[(o * 2 * inputs + first + i) * taps + tap] = before.reals[(o * inputs + i) * taps + tap];
    }
    return std::vector{weights_of(in, std::move(out))};
}

Written write_conv(WriteInput const& in) {
    if (in.replaced.convolution == nullptr) return std::nullopt;
    auto attributes = in.replaced.convolution->kernel->attributes;
    auto const image = in.builder.graph().dims(in.in[0].value);
    auto const weights = in.builder.graph().dims(in.in[1].value);
    if (image.size() != weights.size() || weights[1] == 0 || image[1] % weights[1] != 0) return std::nullopt;
    attributes["group"] = image[1] / weights[1];
    std::vector<ValueId> operands{in.in[0].value, in.in[1].value};
    if (in.in.size() == 3) {
        auto bias = array_of(in, in.in[2]);
        if (bias.reals.size() == 1) bias.reals.assign(static_cast<std::size_t>(weights[0]), bias.reals.front());
        bias.dims = {static_cast<std::int64_t>(bias.reals.size())};
        operands.push_back(in.builder.constant(make_constant(std::move(bias))));
    }
    auto const made = in.builder.one(make_kernel("Conv", attributes), operands);
    if (!made) return std::nullopt;
    return std::vector{Made{*made, InputClass::data, {}}};
}

} // namespace espalier::problems::rewrite
