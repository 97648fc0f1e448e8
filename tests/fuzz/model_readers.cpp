#include "fuzz/readers.hpp"
#include "support/models.hpp"

#include "espalier/base/error.hpp"
#include "espalier/model/onnx.hpp"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <span>

namespace espalier::fuzz {
namespace {

namespace fs = std::filesystem;
using namespace model; // NOLINT(google-build-using-namespace): it is what this file is about

base::Bytes bytes_of(std::string_view text) {
    auto const bytes = std::as_bytes(std::span(text));
    return {bytes.begin(), bytes.end()};
}
std::string text_of(base::Bytes const& bytes) { return {reinterpret_cast<char const*>(bytes.data()), bytes.size()}; }

/// Nothing if the bytes are refused.
template <class Read>
auto read_or_refused(Read read) -> std::optional<decltype(read())> {
    try {
        return read();
    } catch (base::InputError const& error) {
        expect(!std::string_view(error.what()).empty(), "a refusal says something");
        return std::nullopt;
    }
}

/// A number that is none is not equal to itself: such models are only read.
bool has_comparable_attributes(Model const& model) { return difference(model, model).empty(); }

/// Constants that nothing uses are not written anew.
Model only_used(Model model, Model const& written) {
    std::erase_if(model.constants, [&](auto const& entry) { return !written.constants.contains(entry.first); });
    std::erase_if(model.types, [&](auto const& entry) { return !written.types.contains(entry.first); });
    std::erase_if(model.unread, [&](auto const& name) { return !written.unread.contains(name); });
    return model;
}

void read_model(std::string_view input) {
    auto const bytes = bytes_of(input);
    auto const model = read_or_refused([&] { return parse_onnx(bytes, {}); });
    if (!model) return;
    expect(to_onnx(*model) == bytes, "what is not changed is the same file");
    (void)count_nodes(*model);
    auto const again = parse_onnx(to_onnx(made_anew(*model)), {});
    if (!has_comparable_attributes(*model)) return;
    auto const changed = difference(only_used(*model, again), again);
    expect(changed.empty(), "what is written anew reads the same: " + changed);
}

void read_tensor(std::string_view input) {
    std::string name;
    auto const tensor = read_or_refused([&] { return parse_tensor(bytes_of(input), &name); });
    if (tensor)
        expect(parse_tensor(to_tensor_file(*tensor, name)) == *tensor, "a tensor that is written reads the same");
}

TensorPtr numbers(Element element, Dims dims, std::size_t bytes) {
    return std::make_shared<Tensor const>(
        Tensor{.element = element, .dims = std::move(dims), .bytes = base::Bytes(bytes, std::byte{1})});
}

/// Of every kind of attribute, with names of sizes, defaults and an order of nodes.
Model small() {
    Type const type{.element = Element::f32, .shape = {{Dimension{.name = "n"}, Dimension{.size = 2}, Dimension{}}}};
    Model model{.name = "small", .inputs = {{"x", type}, {"w", type}}, .outputs = {{"y", type}, {"s", type}}};
    model.nodes = {{.op = "Add", .inputs = {"x", "w"}, .outputs = {"s"}},
                   {.op = "Clip", .inputs = {"s", "", "c"}, .outputs = {"t", ""}},
                   {.op = "Other", .domain = "org.example", .name = "a/b:0", .inputs = {"t", "c"}, .outputs = {"y"}}};
    model.nodes[2].attributes = {{"whole", std::int64_t{-3}},
                                 {"real", 0.1f},
                                 {"text", std::string("abc")},
                                 {"tensor", numbers(Element::i64, {2}, 16)},
                                 {"wholes", std::vector<std::int64_t>{1, -2}},
                                 {"reals", std::vector<float>{0.5f}},
                                 {"texts", std::vector<std::string>{"a", ""}}};
    model.constants.emplace("c", numbers(Element::f16, {2, 3}, 12));
    model.defaults.emplace("w", numbers(Element::f32, {2}, 8));
    model.types["s"] = type;
    model.opsets = {{"", 13}, {"org.example", 1}};
    return model;
}

/// Small ones of ONNX's own test data, where they are: with branches, loops and what else operators have.
std::vector<std::string> models() {
    std::vector<std::string> texts{text_of(to_onnx(small()))};
    auto const folder = fs::path("/usr/share/libonnx-testdata/data/node");
    for (auto const* name : {"test_if", "test_if_seq", "test_loop11", "test_loop13_seq", "test_scan9_sum",
                             "test_constant", "test_clip_default_min", "test_conv_with_strides_padding",
                             "test_dropout_default_ratio", "test_sequence_map_add_1_sequence_1_tensor",
                             "test_split_zero_size_splits", "test_ai_onnx_ml_label_encoder_string_int"}) {
        std::ifstream in(folder / name / "model.onnx", std::ios::binary);
        std::string const text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
        if (!text.empty()) texts.push_back(text);
    }
    return texts;
}

std::vector<std::string> tensors() {
    std::vector<std::string> texts;
    for (auto const element : {Element::f32, Element::u8, Element::i64, Element::boolean, Element::c128}) {
        auto const size = static_cast<std::size_t>(6 * info(element).size_bytes);
        texts.push_back(text_of(to_tensor_file(*numbers(element, {2, 3}, size), "t")));
    }
    Tensor const words{.element = Element::text, .dims = {2}, .texts = {"one", "two"}};
    texts.push_back(text_of(to_tensor_file(words, "words")));
    return texts;
}

} // namespace

std::vector<Target> model_targets() {
    if (!has_onnx()) return {{"model", read_model, {""}}};
    return {{"model", read_model, models()}, {"tensor", read_tensor, tensors()}};
}

} // namespace espalier::fuzz
