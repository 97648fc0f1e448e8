#include "espalier/model/onnx.hpp"

#include "support/models.hpp"

#include "espalier/base/error.hpp"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>

namespace espalier::model {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

TensorPtr tensor_of(std::vector<float> const& values) {
    auto const bytes = std::as_bytes(std::span(values));
    return std::make_shared<Tensor const>(Tensor{.element = Element::f32,
                                                 .dims = {static_cast<std::int64_t>(values.size())},
                                                 .bytes = {bytes.begin(), bytes.end()}});
}

/// y = relu(x + w), of two floats.
Model small() {
    Type const type{.element = Element::f32, .shape = {{{.size = 2}}}};
    Model model{.name = "small", .inputs = {{"x", type}}, .outputs = {{"y", type}}};
    model.nodes = {{.op = "Add", .inputs = {"x", "w"}, .outputs = {"sum"}},
                   {.op = "Relu", .inputs = {"sum"}, .outputs = {"y"}}};
    model.constants.emplace("w", tensor_of({1, 2}));
    model.opsets.emplace("", 13);
    return model;
}

/// A folder that is gone afterwards.
struct Folder {
    fs::path path = fs::temp_directory_path() / ("espalier-model-" + std::to_string(::getpid()));
    Folder() { fs::create_directories(path); }
    Folder(Folder const&) = delete;
    ~Folder() { fs::remove_all(path); }
    [[nodiscard]] std::string file(std::string const& name) const { return (path / name).string(); }
};

std::string text_in(std::string const& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

TEST(OnnxOptional, a_build_without_onnx_says_what_to_install) {
    if (has_onnx()) GTEST_SKIP() << "built with ONNX";

    try {
        (void)read_onnx("model.onnx");
        FAIL() << "read without ONNX";
    } catch (base::InputError const& error) {
        EXPECT_THAT(error.what(), HasSubstr("model.onnx: this program was built without ONNX: install libonnx-dev"));
    }
    EXPECT_THROW((void)to_onnx({}), base::InputError);
}

class Onnx : public testing::Test {
protected:
    void SetUp() override {
        if (!has_onnx()) GTEST_SKIP() << "built without ONNX";
    }
};

TEST_F(Onnx, a_model_that_was_never_a_file_becomes_one) {
    auto model = small();
    model.nodes[1].attributes = {{"whole", std::int64_t{-3}},
                                 {"real", 0.1f},
                                 {"text", std::string("\xFF\0x", 3)},
                                 {"tensor", tensor_of({5})},
                                 {"wholes", std::vector<std::int64_t>{1, -2}},
                                 {"reals", std::vector<float>{0.5f}},
                                 {"texts", std::vector<std::string>{"a", ""}}};
    model.types["sum"] = {.element = Element::f32, .shape = {{Dimension{.name = "n"}, Dimension{}}}};
    model.defaults.emplace("x", tensor_of({7, 8}));

    auto const again = parse_onnx(to_onnx(model), {});

    EXPECT_EQ(difference(model, again), "");
    EXPECT_EQ(count_nodes(again), 2u);
}

TEST_F(Onnx, tensors_of_every_element_come_back) {
    for (std::size_t i = 1; i < elements.size(); ++i) {
        Tensor tensor{.element = static_cast<Element>(i), .dims = {3}};
        tensor.bytes.resize(static_cast<std::size_t>(3 * elements[i].size_bytes), std::byte{1});
        if (tensor.element == Element::text) tensor.texts = {"a", "", "c"};
        std::string name;

        EXPECT_TRUE(parse_tensor(to_tensor_file(tensor, "t:0"), &name) == tensor) << elements[i].name;
        EXPECT_EQ(name, "t:0");
    }
}

TEST_F(Onnx, a_graph_whose_names_do_not_fit_is_not_written) {
    auto dangling = small();
    dangling.constants.clear();
    auto twice = small();
    twice.constants.emplace("sum", tensor_of({1, 2}));
    auto cyclic = small();
    cyclic.nodes[0].inputs[0] = "y";

    EXPECT_THROW((void)to_onnx(dangling), base::InputError);
    EXPECT_THROW((void)to_onnx(twice), base::InputError);
    EXPECT_THROW((void)to_onnx(cyclic), base::InputError);
}

TEST_F(Onnx, a_model_of_over_2_gb_is_not_written) {
    auto model = small();
    auto const big = std::make_shared<Tensor const>(
        Tensor{.element = Element::u8, .dims = {1 << 26}, .bytes = base::Bytes(std::size_t{1} << 26)});
    for (int i = 0; i < 33; ++i) {
        model.constants.emplace("big" + std::to_string(i), big);
        model.nodes[1].inputs.push_back("big" + std::to_string(i));
    }

    try {
        (void)to_onnx(model);
        FAIL() << "written";
    } catch (base::InputError const& error) {
        EXPECT_THAT(error.what(), HasSubstr("2 GB"));
    }
}

TEST_F(Onnx, a_file_is_replaced_whole) {
    Folder const folder;
    std::ofstream(folder.file("m.onnx")) << "old";

    write_onnx(small(), folder.file("m.onnx"));

    EXPECT_EQ(difference(read_onnx(folder.file("m.onnx")), small()), "");
    EXPECT_EQ(std::distance(fs::directory_iterator(folder.path), {}), 1) << "nothing else is left";
}

TEST_F(Onnx, a_link_is_replaced_and_what_it_leads_to_is_not_touched) {
    Folder const folder;
    std::ofstream(folder.file("precious")) << "precious";
    fs::create_symlink("precious", folder.file("m.onnx"));

    write_onnx(small(), folder.file("m.onnx"));

    EXPECT_EQ(text_in(folder.file("precious")), "precious");
    EXPECT_FALSE(fs::is_symlink(folder.file("m.onnx")));
}

TEST_F(Onnx, what_cannot_be_written_is_said_and_leaves_nothing) {
    Folder const folder;
    fs::create_directory(folder.file("folder"));

    EXPECT_THROW(write_onnx(small(), folder.file("gone/m.onnx")), base::SystemError);
    EXPECT_THROW(write_onnx(small(), folder.file("folder")), base::SystemError);
    EXPECT_EQ(std::distance(fs::recursive_directory_iterator(folder.path), {}), 1);
}

} // namespace
} // namespace espalier::model
