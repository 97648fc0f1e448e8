// Inputs and expected outputs that others made: the tests of ONNX's own operators and small converted networks, as
// Debian ships them (libonnx-testdata).
#include "espalier/base/error.hpp"
#include "espalier/model/evaluate.hpp"
#include "espalier/model/onnx.hpp"

#include "call.hpp"

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
    std::set<std::string> ops;
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

/// One set of inputs and expected outputs.
class Case {
public:
    /// Throws InputError if a file is not one of a tensor.
    Case(Model const& original, fs::path const& folder) : folder_(folder) {
        for (std::size_t i = 0; i < original.inputs.size(); ++i) {
            auto const file = folder / fmt::format("input_{}.pb", i);
            if (!fs::exists(file)) throw base::InputError("an input is not given");
            inputs_[original.inputs[i].name] = of_type(parse_tensor(contents_of(file)), original.inputs[i].type);
        }
        model_ = with_inputs(original, inputs_);
        facts_ = infer(model_);
    }
    [[nodiscard]] std::string why_not() const {
        for (auto const& node : model_.nodes)
            if (auto const why = not_understood(node, model_, facts_)) return fmt::format("{}: {}", node.op, *why);
        return {};
    }
    /// `slack`: how much more rounding than that of one op.
    [[nodiscard]] std::string what_is_wrong(double slack) const {
        Arrays inputs;
        for (auto const& input : model_.inputs) inputs[input.name] = to_array(inputs_.at(input.name));
        auto const outputs = evaluate(model_, inputs);
        for (std::size_t i = 0; i < model_.outputs.size(); ++i) {
            auto const& output = model_.outputs[i];
            auto const got = to_array(to_tensor(outputs.at(output.name)));
            auto const file = contents_of(folder_ / fmt::format("output_{}.pb", i));
            auto const expected = to_array(of_type(parse_tensor(file), output.type));
            if (auto wrong = difference(got, expected, slack); !wrong.empty()) return wrong;
            if (facts_.types.at(output.name) != Known{got.element, got.dims}) return "another type was inferred";
        }
        return {};
    }

private:
    fs::path folder_;
    std::map<std::string, Tensor> inputs_;
    Model model_;
    Facts facts_;
};

Outcome outcome_of(fs::path const& folder, double slack) {
    Outcome out;
    std::optional<Model> model;
    std::vector<Case> cases;
    try {
        model = read_onnx(folder / "model.onnx");
        for (auto const& data : fs::directory_iterator(folder))
            if (fs::is_directory(data)) cases.emplace_back(*model, data.path());
    } catch (base::InputError const&) {
        out.why_not = "an input is not a tensor";
        return out;
    }
    for (auto const& node : model->nodes) out.ops.insert(node.op);
    for (auto const& each : cases) {
        out.why_not = each.why_not();
        if (!out.why_not.empty()) return out;
        if (auto wrong = each.what_is_wrong(slack); !wrong.empty()) out.wrong = wrong;
    }
    return out;
}

/// Of all tests of a part: how many pass, and why the others are not understood.
class Tally {
public:
    Tally(std::string const& part, double slack) {
        for (auto const& folder : folders_in(testdata / part)) add(folder, outcome_of(folder, slack));
    }
    [[nodiscard]] int passed() const { return passed_; }
    /// By op: of how many tests that pass it is a part.
    [[nodiscard]] std::map<std::string, int> const& ops() const { return ops_; }
    /// Why tests are not understood, but for ops that are not in the table or of other domains.
    [[nodiscard]] std::map<std::string, int> const& reasons() const { return reasons_; }

private:
    void add(fs::path const& folder, Outcome const& outcome) {
        EXPECT_EQ(outcome.wrong, "") << folder.filename();
        if (outcome.why_not.empty()) {
            ++passed_;
            for (auto const& op : outcome.ops) ++ops_[op];
            return;
        }
        auto const is_other = [&](char const* words) { return outcome.why_not.find(words) != std::string::npos; };
        if (!is_other("is not in the table") && !is_other("of the domain")) ++reasons_[outcome.why_not];
    }

    int passed_ = 0;
    std::map<std::string, int> ops_, reasons_;
};

class Testdata : public testing::Test {
protected:
    void SetUp() override {
        if (!has_onnx()) GTEST_SKIP() << "built without ONNX";
        if (!fs::exists(testdata)) GTEST_SKIP() << "there is no " << testdata << " (run/setup --test)";
    }
};

using Reasons = std::map<std::string, int>;
constexpr auto not_a_tensor = "an input is not a tensor";

TEST_F(Testdata, tests_of_single_ops_give_what_is_expected) {
    Tally const tally("node", 1);

    EXPECT_GE(tally.passed(), 508);
    for (auto const& [op, count] : tally.ops()) RecordProperty(op, count);
    std::set<std::string_view> untested;
    for (auto const& row : op_rows())
        if (!tally.ops().contains(std::string(row.name))) untested.insert(row.name);
    // There was no Gelu yet, and what Constant makes is no node of a model.
    EXPECT_EQ(untested, (std::set<std::string_view>{"Constant", "Gelu"}));
}

TEST_F(Testdata, what_is_not_understood_of_ops_in_the_table_is_known) {
    auto reasons = Tally("node", 1).reasons();

    reasons.erase(not_a_tensor);
    std::erase_if(reasons, [](auto const& each) { return each.first.starts_with("Range: its operand '"); });
    EXPECT_EQ(reasons, (Reasons{{"BatchNormalization: it is in training mode", 2},
                                {"Cast: it makes elements of text", 2},
                                {"Cast: its operand 'input' is of text", 2},
                                {"CastLike: its operand 'input' is of text", 1},
                                {"CastLike: its operand 'like' is of text", 1},
                                {"Dropout: it is in training mode", 3},
                                {"Dropout: its mask is used", 5},
                                {"Max: it computes on u64", 1},
                                {"MaxPool: the places of its maxima are used", 2},
                                {"Min: it computes on u64", 1},
                                {"Pad: it pads by 'edge'", 1},
                                {"Pad: it pads by 'reflect'", 1}}));
}

/// All inputs but the first are constants, as scales and weights are in models. What follows about the outputs of one
/// op that is not understood is what they are.
TEST_F(Testdata, what_ops_make_that_are_not_understood_has_the_type_that_follows) {
    std::map<std::string, int> checked;
    for (auto const& folder : folders_in(testdata / "node")) {
        auto const data = folder / "test_data_set_0";
        auto const tensor = [&](char const* what, std::size_t i) {
            return parse_tensor(contents_of(data / fmt::format("{}_{}.pb", what, i)));
        };
        try {
            auto model = read_onnx(folder / "model.onnx");
            if (model.nodes.size() != 1) continue;
            for (std::size_t i = 1; i < model.inputs.size(); ++i)
                model.constants[model.inputs[i].name] = std::make_shared<Tensor const>(tensor("input", i));
            model.inputs.resize(std::min<std::size_t>(model.inputs.size(), 1));
            for (auto& output : model.outputs) output.type = {};
            auto const facts = infer(model);
            if (!not_understood(model.nodes[0], model, facts)) continue;
            for (std::size_t i = 0; i < model.outputs.size(); ++i) {
                auto const found = facts.types.find(model.outputs[i].name);
                if (found == facts.types.end()) continue;
                auto const expected = tensor("output", i);
                EXPECT_EQ(found->second, (Known{expected.element, expected.dims})) << folder.filename();
                ++checked[model.nodes[0].op];
            }
        } catch (base::InputError const&) { // not a tensor: a sequence, or nothing
        }
    }
    for (auto const* op : {"Resize", "ConvTranspose", "LSTM", "GRU", "RNN", "QuantizeLinear", "DequantizeLinear"})
        EXPECT_GT(checked[op], 0) << op;
}

TEST_F(Testdata, converted_networks_give_what_is_expected) {
    EXPECT_GE(Tally("pytorch-converted", 10).passed(), 78);
    EXPECT_GE(Tally("pytorch-operator", 10).passed(), 33);
    EXPECT_GE(Tally("simple", 1).passed(), 5);
}

} // namespace
} // namespace espalier::model
