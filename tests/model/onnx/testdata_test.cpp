// Models that others made: the tests of ONNX's own operators and small converted networks, as Debian ships them
// (libonnx-testdata).
#include "support/models.hpp"

#include "espalier/base/error.hpp"
#include "espalier/model/onnx.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>

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
        if (!fs::exists(testdata)) GTEST_SKIP() << "there is no " << testdata << " (run/setup --test)";
    }
};

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

        EXPECT_EQ(difference(model, again), "");
        EXPECT_EQ(count_nodes(model), count_nodes(again));
    }
}

/// What no tensor is has no type in a model, so without the file it is gone.
bool is_all_tensors(Model const& model) {
    auto const is_tensor = [](Value const& value) { return value.type.element != Element::none; };
    return std::all_of(model.inputs.begin(), model.inputs.end(), is_tensor) &&
           std::all_of(model.outputs.begin(), model.outputs.end(), is_tensor) && model.unread.empty();
}

TEST_F(OnnxTestdata, every_model_is_the_same_graph_when_written_without_its_file) {
    std::size_t written = 0;
    for (auto const& file : files_named(".onnx")) {
        SCOPED_TRACE(file.string());
        auto model = read_onnx(file.string());
        if (!is_all_tensors(model)) continue;
        model.file = nullptr;

        auto const again = parse_onnx(to_onnx(model), {});

        EXPECT_EQ(difference(model, again), "");
        ++written;
    }
    EXPECT_GT(written, 1000u);
}

TEST_F(OnnxTestdata, every_tensor_is_read_as_it_is_written) {
    std::size_t read = 0, refused = 0;
    for (auto const& file : files_named(".pb")) {
        SCOPED_TRACE(file.string());
        std::string name, again_name;
        Tensor tensor;
        try {
            tensor = parse_tensor(bytes_in(file), &name);
        } catch (base::InputError const&) {
            ++refused; // sequences and optional values are other messages
            continue;
        }

        auto const again = parse_tensor(to_tensor_file(tensor, name), &again_name);

        EXPECT_TRUE(tensor == again);
        EXPECT_EQ(name, again_name);
        ++read;
    }
    EXPECT_EQ(read, 3154u);
    EXPECT_EQ(refused, 51u);
}

} // namespace
} // namespace espalier::model
