#include "outline.hpp"

#include <algorithm>
#include <cmath>

namespace espalier::model {
namespace {

using Outline = std::vector<std::optional<Known>>;

/// What an outline may look at.
struct Seen {
    Node const& node;
    Model const& model;
    Knowledge const& knowledge;

    [[nodiscard]] Known const* type(std::size_t i) const {
        auto const name = node.input(i);
        return name.empty() ? nullptr : knowledge.type(name);
    }
    [[nodiscard]] std::int64_t whole(std::string const& name, std::int64_t otherwise) const {
        auto const found = node.attributes.find(name);
        auto const* const value = found == node.attributes.end() ? nullptr : std::get_if<std::int64_t>(&found->second);
        return value != nullptr ? *value : otherwise;
    }
    [[nodiscard]] Dims list(std::string const& name, Dims otherwise) const {
        auto const found = node.attributes.find(name);
        auto const* const value =
            found == node.attributes.end() ? nullptr : std::get_if<std::vector<std::int64_t>>(&found->second);
        return value != nullptr ? *value : otherwise;
    }
    [[nodiscard]] std::string word(std::string const& name) const {
        auto const found = node.attributes.find(name);
        auto const* const value = found == node.attributes.end() ? nullptr : std::get_if<std::string>(&found->second);
        return value != nullptr ? *value : std::string();
    }
};

/// By constant factors or to constant sizes, perhaps of some axes only.
Outline resized(Seen const& seen) {
    auto const* const before = seen.type(0);
    auto const policy = seen.word("keep_aspect_ratio_policy");
    if (before == nullptr || (!policy.empty() && policy != "stretch")) return {};
    auto const has_roi = seen.model.opset() >= 11;
    Dims all(before->dims.size());
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::int64_t>(i);
    auto axes = seen.list("axes", all);
    for (auto& axis : axes) axis += axis < 0 ? static_cast<std::int64_t>(all.size()) : 0;
    if (std::ranges::any_of(axes, [&](auto axis) { return axis < 0 || axis >= std::ssize(all); })) return {};
    auto out = *before;
    auto const sizes = has_roi ? seen.knowledge.wholes(seen.node.input(3)) : std::nullopt;
    if (sizes && sizes->size() == axes.size()) {
        for (std::size_t i = 0; i < axes.size(); ++i) out.dims[static_cast<std::size_t>(axes[i])] = (*sizes)[i];
        return {out};
    }
    auto const* const scales = seen.model.constant(seen.node.input(has_roi ? 2 : 1));
    if (scales == nullptr || scales->element != Element::f32) return {};
    auto const factors = to_array(*scales).reals;
    if (factors.size() != axes.size()) return {};
    for (std::size_t i = 0; i < axes.size(); ++i) {
        auto& size = out.dims[static_cast<std::size_t>(axes[i])];
        size = static_cast<std::int64_t>(std::floor(static_cast<double>(size) * factors[i]));
        if (size < 1) return {};
    }
    return {out};
}

Outline transposed_convolution(Seen const& seen) {
    auto const *const image = seen.type(0), *const weights = seen.type(1);
    if (image == nullptr || weights == nullptr || image->dims.size() < 3 ||
        weights->dims.size() != image->dims.size() || seen.node.attributes.contains("output_shape"))
        return {};
    auto const automatic = seen.word("auto_pad");
    if (!automatic.empty() && automatic != "NOTSET") return {};
    auto const spatial = image->dims.size() - 2;
    auto const strides = seen.list("strides", Dims(spatial, 1)), dilations = seen.list("dilations", Dims(spatial, 1));
    auto const pads = seen.list("pads", Dims(2 * spatial, 0)), more = seen.list("output_padding", Dims(spatial, 0));
    if (strides.size() != spatial || dilations.size() != spatial || pads.size() != 2 * spatial ||
        more.size() != spatial)
        return {};
    auto out = *image;
    out.dims[1] = weights->dims[1] * seen.whole("group", 1);
    for (std::size_t i = 0; i < spatial; ++i) {
        auto const window = dilations[i] * (weights->dims[i + 2] - 1) + 1;
        out.dims[i + 2] = strides[i] * (image->dims[i + 2] - 1) + window + more[i] - pads[i] - pads[i + spatial];
        if (out.dims[i + 2] < 1) return {};
    }
    return {out};
}

/// LSTM, GRU, RNN: the sequence of states, and the last ones.
Outline recurrent(Seen const& seen) {
    auto const *const sequence = seen.type(0), *const weights = seen.type(2);
    if (sequence == nullptr || weights == nullptr || sequence->dims.size() != 3 || weights->dims.size() != 3) return {};
    auto const directions = weights->dims[0], hidden = weights->dims[2];
    auto const element = sequence->element;
    if (seen.whole("layout", 0) == 1) {
        Known const last{element, {sequence->dims[0], directions, hidden}};
        return {Known{element, {sequence->dims[0], sequence->dims[1], directions, hidden}}, last, last};
    }
    Known const last{element, {directions, sequence->dims[1], hidden}};
    return {Known{element, {sequence->dims[0], directions, sequence->dims[1], hidden}}, last, last};
}

Outline like_the_first(Seen const& seen) {
    auto const* const type = seen.type(0);
    if (type == nullptr || seen.node.attributes.contains("dtype")) return {};
    return {*type};
}
Outline quantized(Seen const& seen) {
    auto const* const type = seen.type(0);
    auto const* const zero = seen.type(2);
    if (type == nullptr || seen.node.attributes.contains("output_dtype")) return {};
    return {Known{zero != nullptr ? zero->element : Element::u8, type->dims}};
}
Outline dequantized(Seen const& seen) {
    auto const *const type = seen.type(0), *const scale = seen.type(1);
    if (type == nullptr || scale == nullptr) return {};
    return {Known{scale->element, type->dims}};
}

struct OutlineRow {
    std::string_view op;
    Outline (*outline)(Seen const&);
};
constexpr std::array<OutlineRow, 12> outlines{{{"Resize", resized},
                                               {"Upsample", resized},
                                               {"ConvTranspose", transposed_convolution},
                                               {"LSTM", recurrent},
                                               {"GRU", recurrent},
                                               {"RNN", recurrent},
                                               {"RandomNormalLike", like_the_first},
                                               {"RandomUniformLike", like_the_first},
                                               {"LRN", like_the_first},
                                               {"CumSum", like_the_first},
                                               {"QuantizeLinear", quantized},
                                               {"DequantizeLinear", dequantized}}};

} // namespace

std::vector<std::optional<Known>> outline_of(Node const& node, Model const& model, Knowledge const& knowledge) {
    auto const row = std::ranges::find(outlines, node.op, &OutlineRow::op);
    if (row == outlines.end() || !node.domain.empty()) return {};
    return row->outline({node, model, knowledge});
}

} // namespace espalier::model
