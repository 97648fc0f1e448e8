#pragma once

#include "espalier/base/rng.hpp"
#include "espalier/model/evaluate.hpp"

#include <string>
#include <vector>

/// Models of a few nodes, made by hand.
namespace espalier::model {

using Whole = std::int64_t;
using Wholes = std::vector<Whole>;
using Named = std::map<std::string, Attribute>;

inline Array reals(Dims const& dims, std::vector<double> const& values, Element element = Element::f32) {
    return {.element = element, .dims = dims, .reals = values, .wholes = {}, .texts = {}};
}
inline Array wholes(Dims const& dims, Wholes const& values, Element element = Element::i64) {
    return {.element = element, .dims = dims, .reals = {}, .wholes = values, .texts = {}};
}
inline Array list(Wholes const& values) { return wholes({static_cast<Whole>(values.size())}, values); }

/// Small numbers with few digits: sums of their products are exact.
inline Array random_reals(Dims const& dims, base::Rng& rng) {
    auto out = reals(dims, {});
    for (Whole i = 0; i < element_count(dims); ++i)
        out.reals.push_back(static_cast<double>(static_cast<Whole>(rng() % 33) - 16) / 8);
    return out;
}

inline Type type_of(Array const& array) {
    Type out{array.element, std::vector<Dimension>{}};
    for (auto const size : array.dims) out.shape->push_back({size, {}});
    return out;
}

/// A node without a name; outputs are y0, y1, ..
inline Node node(std::string const& op, std::vector<std::string> const& inputs, Named const& attributes = {},
                 std::vector<std::string> const& outputs = {"y0"}) {
    Node out;
    out.op = op;
    out.inputs = inputs;
    out.outputs = outputs;
    out.attributes = attributes;
    return out;
}

/// Of one node on these operands; whole numbers are constants, reals are inputs x0, x1, ..
struct OneNode {
    Model model;
    Arrays inputs;

    OneNode(std::string const& op, std::vector<Array> const& operands, Named const& attributes = {}, Whole opset = 17,
            std::size_t outputs = 1) {
        model.opsets[""] = opset;
        auto made = node(op, {}, attributes, {});
        for (std::size_t i = 0; i < operands.size(); ++i) {
            auto const name = "x" + std::to_string(i);
            made.inputs.push_back(operands[i].element == Element::none ? std::string{} : name);
            if (operands[i].element == Element::none) continue;
            if (is_real(operands[i].element)) {
                model.inputs.push_back({name, type_of(operands[i])});
                inputs[name] = operands[i];
            } else
                model.constants[name] = std::make_shared<Tensor const>(to_tensor(operands[i]));
        }
        for (std::size_t i = 0; i < outputs; ++i) {
            made.outputs.push_back("y" + std::to_string(i));
            model.outputs.push_back({made.outputs.back(), {}});
        }
        model.nodes.push_back(made);
    }
    [[nodiscard]] Array run() const { return evaluate(model, inputs).at("y0"); }
    [[nodiscard]] std::string why_not() const {
        return not_understood(model.nodes[0], model, infer(model)).value_or("");
    }
};

inline Array const left_out{};

} // namespace espalier::model
