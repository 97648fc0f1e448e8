// Models that others made: the tests of ONNX's own operators and small converted networks, as Debian ships them
// (libonnx-testdata).
#include "espalier/base/error.hpp"
#include "espalier/model/onnx.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace espalier::model {
namespace {

namespace fs = std::filesystem;

constexpr auto testdata = "/usr/share/libonnx-testdata/data";

base::Bytes bytes_in(fs::path const& file) {
    std::ifstream in(file, std::ios::binary);
    std::string const text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    auto const bytes = std::as_bytes(std::span(text));
    return {bytes.begin(), bytes.end()};
}

std::vector<fs::path> files_named(std::string_view extension) {
    std::vector<fs::path> files;
    for (auto const& entry : fs::recursive_directory_iterator(testdata))
        if (entry.path().extension() == extension) files.push_back(entry.path());
    std::sort(files.begin(), files.end());
    return files;
}

class OnnxTestdata : public testing::Test {
protected:
    void SetUp() override {
        if (!has_onnx()) GTEST_SKIP() << "built without ONNX";
        if (!fs::exists(testdata)) GTEST_SKIP() << "there is no " << testdata << " (run/setup --test)";
    }
};

/// Tensors are compared by what is in them.
void expect_same_tensors(std::map<std::string, TensorPtr> const& a, std::map<std::string, TensorPtr> const& b) {
    ASSERT_EQ(a.size(), b.size());
    for (auto const& [name, tensor] : a) {
        ASSERT_TRUE(b.contains(name)) << name;
        EXPECT_TRUE(*tensor == *b.at(name)) << name;
    }
}

/// What is only kept may be written in another way; there it is.
void expect_same_attribute(Attribute const& a, Attribute const& b) {
    ASSERT_EQ(a.index(), b.index());
    if (auto const* tensor = std::get_if<TensorPtr>(&a))
        EXPECT_TRUE(**tensor == *std::get<TensorPtr>(b));
    else
        EXPECT_TRUE(a == b);
}

void expect_same_node(Node const& a, Node const& b) {
    EXPECT_EQ(a.op, b.op);
    EXPECT_EQ(a.domain, b.domain);
    EXPECT_EQ(a.name, b.name);
    EXPECT_EQ(a.inputs, b.inputs);
    EXPECT_EQ(a.outputs, b.outputs);
    EXPECT_EQ(a.captured, b.captured);
    ASSERT_EQ(a.attributes.size(), b.attributes.size());
    for (auto const& [name, value] : a.attributes) {
        ASSERT_TRUE(b.attributes.contains(name)) << name;
        expect_same_attribute(value, b.attributes.at(name));
    }
}

void expect_same_graph(Model const& a, Model const& b) {
    EXPECT_EQ(a.name, b.name);
    EXPECT_TRUE(a.inputs == b.inputs);
    EXPECT_TRUE(a.outputs == b.outputs);
    EXPECT_TRUE(a.types == b.types);
    EXPECT_EQ(a.opsets, b.opsets);
    EXPECT_EQ(a.unread, b.unread);
    expect_same_tensors(a.constants, b.constants);
    expect_same_tensors(a.defaults, b.defaults);
    ASSERT_EQ(a.nodes.size(), b.nodes.size());
    for (std::size_t i = 0; i < a.nodes.size(); ++i) expect_same_node(a.nodes[i], b.nodes[i]);
}

/// Everything in it is new to the writer.
Model made_anew(Model model) {
    for (auto& node : model.nodes) node.origin.reset();
    for (auto& [name, tensor] : model.constants) tensor = std::make_shared<Tensor const>(*tensor);
    for (auto& [name, tensor] : model.defaults) tensor = std::make_shared<Tensor const>(*tensor);
    return model;
}

TEST_F(OnnxTestdata, every_model_is_written_byte_for_byte_as_it_was) {
    auto const files = files_named(".onnx");

    for (auto const& file : files) {
        SCOPED_TRACE(file.string());
        auto const model = read_onnx(file.string());
        EXPECT_TRUE(to_onnx(model) == bytes_in(file));
    }

    EXPECT_EQ(files.size(), 1072u) << "932 operators, 82 and 35 converted ones, 23 small models";
}

TEST_F(OnnxTestdata, every_model_of_which_everything_is_written_anew_is_the_same_graph) {
    for (auto const& file : files_named(".onnx")) {
        SCOPED_TRACE(file.string());
        auto const model = read_onnx(file.string());

        auto const again = parse_onnx(to_onnx(made_anew(model)), {});

        expect_same_graph(model, again);
        EXPECT_EQ(count_nodes(model), count_nodes(again));
    }
}

TEST_F(OnnxTestdata, every_tensor_is_read_as_it_is_written) {
    std::size_t read = 0;
    for (auto const& file : files_named(".pb")) {
        SCOPED_TRACE(file.string());
        std::string name, again_name;
        Tensor tensor;
        try {
            tensor = parse_tensor(bytes_in(file), &name);
        } catch (base::InputError const&) {
            continue; // lists of tensors have no name of their own: they are other messages
        }

        auto const again = parse_tensor(to_tensor_file(tensor, name), &again_name);

        EXPECT_TRUE(tensor == again);
        EXPECT_EQ(name, again_name);
        ++read;
    }
    EXPECT_GT(read, 2500u);
}

} // namespace
} // namespace espalier::model
