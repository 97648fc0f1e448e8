// Inputs and expected outputs that others made: the tests of ONNX's own operators and small converted networks, as
// Debian ships them (libonnx-testdata).
#include "espalier/base/error.hpp"
#include "espalier/model/evaluate.hpp"
#include "espalier/model/onnx.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

namespace espalier::model {
namespace {

namespace fs = std::filesystem;

fs::path const testdata = "/usr/share/libonnx-testdata/data";

base::Bytes contents_of(fs::path const& file) {
    std::ifstream in(file, std::ios::binary);
    std::string const text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    auto const bytes = std::as_bytes(std::span(text));
    return {bytes.begin(), bytes.end()};
}

std::vector<fs::path> folders_in(fs::path const& folder) {
    std::vector<fs::path> out;
    for (auto const& entry : fs::directory_iterator(folder))
        if (fs::exists(entry.path() / "model.onnx")) out.push_back(entry.path());
    std::sort(out.begin(), out.end());
    return out;
}

/// What became of one test of the package.
struct Outcome {
    std::string why_not; ///< it is not understood; empty: it is
    std::string wrong;   ///< empty: it has the expected outputs
};

/// The package has the bits of bf16 as whole numbers.
Tensor of_type(Tensor tensor, Type const& type) {
    if (type.element == Element::bf16 && tensor.element == Element::u16) tensor.element = Element::bf16;
    return tensor;
}

/// Whole-number operands say how: they become constants. All others have the shapes that they have here.
Model with_inputs(Model model, std::map<std::string, Tensor> const& tensors) {
    std::vector<Value> left;
    for (auto input : model.inputs) {
        auto const& tensor = tensors.at(input.name);
        if (!is_real(tensor.element)) {
            model.constants[input.name] = std::make_shared<Tensor const>(tensor);
            continue;
        }
        input.type.element = tensor.element;
        input.type.shape.emplace();
        for (auto const size : tensor.dims) input.type.shape->push_back({size, {}});
        left.push_back(input);
    }
    model.inputs = left;
    return model;
}

/// Of rounding on both sides: the expected values were computed in the element's own precision. Those of bf16 are cut
/// off, not rounded.
double tolerance(Element element, double expected) {
    auto const unit = element == Element::f64   ? 1e-12
                      : element == Element::f32 ? 2e-6
                      : element == Element::f16 ? 2e-3
                                                : 8e-3;
    return unit * (1 + std::abs(expected));
}
bool is_near(double a, double b, double within) {
    return (std::isnan(a) && std::isnan(b)) || a == b || std::abs(a - b) <= within;
}

std::string difference(Array const& got, Array const& expected, double slack) {
    if (got.element != expected.element)
        return fmt::format("{}, not {}", info(got.element).name, info(expected.element).name);
    if (got.dims != expected.dims) return fmt::format("shape {}, not {}", got.dims, expected.dims);
    if (got.reals.size() != expected.reals.size() || got.wholes.size() != expected.wholes.size())
        return "number of elements";
    if (got.wholes != expected.wholes) return "whole numbers";
    for (std::size_t i = 0; i < got.reals.size(); ++i)
        if (!is_near(got.reals[i], expected.reals[i], slack * tolerance(got.element, expected.reals[i])))
            return fmt::format("element {}: {}, not {}", i, got.reals[i], expected.reals[i]);
    return {};
}

/// Whether the model is understood, and if so, whether it gives what is expected. `slack`: how much more rounding than
/// that of one op.
Outcome outcome_of(fs::path const& folder, double slack) {
    Outcome out;
    try {
        auto const original = read_onnx(folder / "model.onnx");
        for (int set = 0;; ++set) {
            auto const data = folder / fmt::format("test_data_set_{}", set);
            if (!fs::exists(data)) return out;
            std::map<std::string, Tensor> tensors;
            for (std::size_t i = 0; i < original.inputs.size(); ++i)
                if (auto const file = data / fmt::format("input_{}.pb", i); fs::exists(file))
                    tensors[original.inputs[i].name] =
                        of_type(parse_tensor(contents_of(file)), original.inputs[i].type);
            for (auto const& input : original.inputs)
                if (!tensors.contains(input.name)) {
                    out.why_not = "an input is not a tensor";
                    return out;
                }
            auto const model = with_inputs(original, tensors);
            auto const facts = infer(model);
            for (auto const& node : model.nodes)
                if (auto const why = not_understood(node, model, facts)) {
                    out.why_not = fmt::format("{}: {}", node.op, *why);
                    return out;
                }
            Arrays inputs;
            for (auto const& input : model.inputs) inputs[input.name] = to_array(tensors.at(input.name));
            auto const outputs = evaluate(model, inputs);
            for (std::size_t i = 0; i < model.outputs.size(); ++i) {
                auto const file = parse_tensor(contents_of(data / fmt::format("output_{}.pb", i)));
                auto const expected = to_array(of_type(file, model.outputs[i].type));
                auto const got = to_array(to_tensor(outputs.at(model.outputs[i].name)));
                if (auto const wrong = difference(got, expected, slack); !wrong.empty()) out.wrong = wrong;
                auto const inferred = facts.types.find(model.outputs[i].name);
                if (inferred == facts.types.end() || inferred->second != Known{got.element, got.dims})
                    out.wrong = "another type was inferred";
            }
        }
    } catch (base::InputError const& error) {
        out.why_not = error.what();
    }
    return out;
}

/// Per op of the first node: how many tests pass, and why the others are not understood.
class Tally {
public:
    void add(fs::path const& folder, Outcome const& outcome) {
        auto const name = folder.filename().string();
        EXPECT_EQ(outcome.wrong, "") << name;
        if (outcome.why_not.empty())
            ++passed_;
        else
            ++reasons_[outcome.why_not];
        if (!outcome.why_not.empty()) refused_.insert(name);
    }
    [[nodiscard]] int passed() const { return passed_; }
    [[nodiscard]] std::set<std::string> const& refused() const { return refused_; }
    void print() const {
        fmt::print("{} understood, {} not\n", passed_, refused_.size());
        for (auto const& [reason, count] : reasons_) fmt::print("{:4} {}\n", count, reason);
    }

private:
    int passed_ = 0;
    std::map<std::string, int> reasons_;
    std::set<std::string> refused_;
};

class Testdata : public testing::Test {
protected:
    void SetUp() override {
        if (!has_onnx()) GTEST_SKIP() << "built without ONNX";
        if (!fs::exists(testdata)) GTEST_SKIP() << "there is no " << testdata << " (run/setup --test)";
    }
};

TEST_F(Testdata, what_is_understood_of_the_tests_of_single_ops_gives_what_is_expected) {
    Tally tally;

    for (auto const& folder : folders_in(testdata / "node")) tally.add(folder, outcome_of(folder, 1));

    tally.print();
}

TEST_F(Testdata, converted_networks_give_what_is_expected) {
    Tally tally;

    for (auto const* const part : {"pytorch-converted", "pytorch-operator", "simple"})
        for (auto const& folder : folders_in(testdata / part)) tally.add(folder, outcome_of(folder, 10));

    tally.print();
}

} // namespace
} // namespace espalier::model
