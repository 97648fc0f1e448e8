#include "made.hpp"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <unistd.h>

namespace espalier::model {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

/// Two folders: one with a model and its data, and one with what is not its business.
class OnnxExternal : public testing::Test {
protected:
    void SetUp() override {
        fs::create_directories(home / "sub");
        fs::create_directories(elsewhere);
        put(home / "data.bin", "abcdefghijklmnop");
        put(home / "sub" / "data.bin", "ABCDEFGH");
        put(elsewhere / "secret", "secretsecret");
    }
    void TearDown() override { fs::remove_all(root); }

    static void put(fs::path const& file, std::string const& text) { std::ofstream(file, std::ios::binary) << text; }

    static void set_external(pb::TensorProto& tensor, std::vector<std::pair<std::string, std::string>> const& entries) {
        tensor.set_data_type(pb::TensorProto::FLOAT);
        tensor.add_dims(2);
        tensor.set_data_location(pb::TensorProto::EXTERNAL);
        for (auto const& [key, value] : entries) {
            auto& entry = *tensor.add_external_data();
            entry.set_key(key);
            entry.set_value(value);
        }
    }
    /// x + w, where w is the tensor.
    static pb::ModelProto model_with(std::vector<std::pair<std::string, std::string>> const& entries) {
        auto proto = blank();
        auto& tensor = *proto.mutable_graph()->add_initializer();
        tensor.set_name("w");
        set_external(tensor, entries);
        add_node(*proto.mutable_graph(), "Add", {"x", "w"}, {"y"});
        return proto;
    }
    [[nodiscard]] std::string text_of_w(std::vector<std::pair<std::string, std::string>> const& entries) const {
        auto const model = parse_onnx(bytes_of(model_with(entries)), home.string());
        auto const& bytes = model.constant("w")->bytes;
        return {reinterpret_cast<char const*>(bytes.data()), bytes.size()};
    }
    [[nodiscard]] std::string refused(std::vector<std::pair<std::string, std::string>> const& entries) const {
        try {
            return "read: " + text_of_w(entries);
        } catch (base::InputError const& error) {
            return error.what();
        }
    }

    fs::path root = fs::temp_directory_path() / ("espalier-external-" + std::to_string(::getpid()));
    fs::path home = root / "home";
    fs::path elsewhere = root / "elsewhere";
};

TEST_F(OnnxExternal, data_are_read_from_where_they_are_said_to_be) {
    EXPECT_EQ(text_of_w({{"location", "data.bin"}}), "abcdefgh");
    EXPECT_EQ(text_of_w({{"location", "data.bin"}, {"offset", "4"}}), "efghijkl");
    EXPECT_EQ(text_of_w({{"location", "data.bin"}, {"offset", "8"}, {"length", "8"}, {"checksum", "?"}}), "ijklmnop");
    EXPECT_EQ(text_of_w({{"location", "sub/data.bin"}}), "ABCDEFGH");
    EXPECT_EQ(text_of_w({{"location", "./data.bin"}}), "abcdefgh");
}

TEST_F(OnnxExternal, a_link_inside_the_folder_is_as_good_as_a_file) {
    fs::create_symlink("sub/data.bin", home / "link.bin");

    EXPECT_EQ(text_of_w({{"location", "link.bin"}}), "ABCDEFGH");
}

TEST_F(OnnxExternal, nothing_outside_the_folder_is_read) {
    fs::create_symlink("../elsewhere/secret", home / "link");
    fs::create_directory_symlink("../elsewhere", home / "folder");

    for (auto const& path : {"../elsewhere/secret", "sub/../../elsewhere/secret", "sub/../data.bin", "link",
                             "folder/secret", "", ".", "/etc/passwd"})
        EXPECT_THAT(refused({{"location", path}}), HasSubstr("not in the folder of the model")) << path;
    EXPECT_THAT(refused({{"location", (elsewhere / "secret").string()}}), HasSubstr("not in the folder"));
    EXPECT_THAT(refused({{"location", (home / "data.bin").string()}}), HasSubstr("not in the folder"));
    EXPECT_THAT(refused({{"location", std::string("data.bin\0x", 10)}}), HasSubstr("not in the folder"));
}

TEST_F(OnnxExternal, places_that_are_not_in_the_file) {
    ::mkfifo((home / "pipe").c_str(), 0600);

    EXPECT_THAT(refused({{"location", "gone.bin"}}), HasSubstr("no such file"));
    EXPECT_THAT(refused({{"location", "sub"}}), HasSubstr("no such file"));
    EXPECT_THAT(refused({{"location", "pipe"}}), HasSubstr("no such file"));
    EXPECT_THAT(refused({{"location", "data.bin"}, {"offset", "12"}}), HasSubstr("ends before"));
    EXPECT_THAT(refused({{"location", "data.bin"}, {"offset", "9223372036854775807"}}), HasSubstr("ends before"));
    EXPECT_THAT(refused({{"location", "data.bin"}, {"length", "17"}}), HasSubstr("ends before"));
    EXPECT_THAT(refused({{"location", "data.bin"}, {"length", "4"}}), HasSubstr("not as long"));
    for (auto const* number : {"-1", "1e3", "", "0x10", "18446744073709551616", " 4"})
        EXPECT_THAT(refused({{"location", "data.bin"}, {"offset", number}}), HasSubstr("no place")) << number;
}

TEST_F(OnnxExternal, a_model_without_a_folder_has_no_data_outside) {
    auto const bytes = bytes_of(model_with({{"location", "data.bin"}}));

    EXPECT_THROW((void)parse_onnx(bytes, {}), base::InputError);
}

TEST_F(OnnxExternal, tensors_in_branches_and_functions_are_looked_at_too) {
    auto proto = blank();
    add_node(*proto.mutable_graph(), "Relu", {"x"}, {"y"});
    auto branch = proto;
    auto& node = add_node(*branch.mutable_graph(), "If", {"x"}, {"z"});
    set_external(*add_graph(node, "then_branch").add_initializer(), {{"location", "../elsewhere/secret"}});
    auto function = proto;
    auto& inside = *function.add_functions()->add_node();
    set_external(*add_attribute(inside, "value", pb::AttributeProto::TENSOR).mutable_t(), {{"location", "gone"}});

    EXPECT_THROW((void)parse_onnx(bytes_of(branch), home.string()), base::InputError);
    EXPECT_THROW((void)parse_onnx(bytes_of(function), home.string()), base::InputError);
}

TEST_F(OnnxExternal, data_stay_outside_in_the_same_folder_and_come_inside_elsewhere) {
    auto proto = model_with({{"location", "data.bin"}, {"offset", "4"}});
    auto& node = add_node(*proto.mutable_graph(), "If", {"x"}, {"z"});
    auto& inner = *add_graph(node, "then_branch").add_initializer();
    inner.set_name("inner");
    set_external(inner, {{"location", "sub/data.bin"}});
    auto const bytes = bytes_of(proto);
    auto const model = parse_onnx(bytes, home.string());

    EXPECT_EQ(to_onnx(model, (home / "sub" / "..").string()), bytes);
    auto const moved = proto_in(to_onnx(model, elsewhere.string()));

    EXPECT_EQ(moved.graph().initializer(0).raw_data(), "efghijkl");
    EXPECT_FALSE(moved.graph().initializer(0).has_data_location());
    EXPECT_EQ(moved.graph().initializer(0).external_data_size(), 0);
    EXPECT_EQ(moved.graph().node(1).attribute(0).g().initializer(0).raw_data(), "ABCDEFGH");
    EXPECT_EQ(*read(moved).constant("w"), *model.constant("w"));
}

TEST_F(OnnxExternal, a_changed_model_still_refers_to_data_that_did_not_change) {
    auto model = parse_onnx(bytes_of(model_with({{"location", "data.bin"}})), home.string());
    model.nodes[0].inputs = {"w", "x"};

    EXPECT_TRUE(proto_in(to_onnx(model, home.string())).graph().initializer(0).has_data_location());
    EXPECT_FALSE(proto_in(to_onnx(model)).graph().initializer(0).has_data_location());
}

TEST_F(OnnxExternal, a_model_is_not_written_over_its_data) {
    auto const model = parse_onnx(bytes_of(model_with({{"location", "data.bin"}})), home.string());

    EXPECT_THROW(write_onnx(model, (home / "data.bin").string()), base::SystemError);
    EXPECT_EQ(text_of_w({{"location", "data.bin"}}), "abcdefgh");
}

TEST_F(OnnxExternal, kinds_of_elements_that_we_do_not_read_stay_where_they_are) {
    auto proto = model_with({{"location", "data.bin"}});
    proto.mutable_graph()->mutable_initializer(0)->set_data_type(17);
    auto const model = parse_onnx(bytes_of(proto), home.string());

    EXPECT_EQ(to_onnx(model, home.string()), bytes_of(proto));
    EXPECT_THROW((void)to_onnx(model, elsewhere.string()), base::InputError);
}

} // namespace
} // namespace espalier::model
