#pragma once

#include "espalier/model/evaluate.hpp"
#include "espalier/model/model.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

/// A part of a model that rules rewrite: understood ops on tensors of known types, connected by numbers.
namespace espalier::problems::rewrite {

using ValueId = std::int32_t;
inline constexpr ValueId no_value = -1; ///< an operand that is left out

/// Elements that are known, in float64 so that folding rounds once, at the end.
struct Constant {
    model::Array array;
    model::TensorPtr tensor; ///< as in the file; null: it was computed
    std::uint64_t hash = 0;  ///< of type and elements, to nine digits
    bool operator==(Constant const&) const = delete;
};
using ConstantPtr = std::shared_ptr<Constant const>; ///< shared by all graphs that are made of one
[[nodiscard]] ConstantPtr make_constant(model::Array array, model::TensorPtr tensor = nullptr);

struct GraphValue {
    model::Known type;
    ConstantPtr constant; ///< null: it is not known
};

/// What an op does, whatever it is applied to.
struct Kernel {
    std::string op;
    std::map<std::string, model::Attribute> attributes;
    std::uint64_t hash = 0;
};
using KernelPtr = std::shared_ptr<Kernel const>; ///< shared likewise
[[nodiscard]] KernelPtr make_kernel(std::string op, std::map<std::string, model::Attribute> attributes = {});

struct Operation {
    KernelPtr kernel;
    std::vector<ValueId> in;
    std::vector<ValueId> out;
    std::optional<std::size_t> origin; ///< the node of the model that it is, unchanged
};

/// Ops stand after those whose results they use. Every value is an input, a constant, or made by one op.
struct Graph {
    std::int64_t opset = 0;
    std::vector<GraphValue> values;
    std::vector<ValueId> inputs;
    std::vector<ValueId> outputs;
    std::vector<Operation> ops;

    [[nodiscard]] GraphValue const& value(ValueId id) const { return values[static_cast<std::size_t>(id)]; }
    [[nodiscard]] Constant const* constant(ValueId id) const {
        return id == no_value ? nullptr : value(id).constant.get();
    }
    [[nodiscard]] model::Dims const& dims(ValueId id) const { return value(id).type.dims; }
};

/// Who makes and who uses each value.
struct Uses {
    std::vector<std::int32_t> maker;                ///< an op, or -1
    std::vector<std::vector<std::int32_t>> readers; ///< ops
    explicit Uses(Graph const& graph);
};

/// The same for graphs that differ in numbering and order only; constants by their elements.
[[nodiscard]] std::uint64_t key_of(Graph const& graph);
/// The same for graphs that also differ in the elements of large constants: blocks of a network that repeats.
[[nodiscard]] std::uint64_t structure_of(Graph const& graph);

/// Without ops whose results nobody needs, in an order in which operands come first; values are numbered anew. Nothing
/// if there is a cycle.
[[nodiscard]] std::optional<Graph> tidied(Graph graph);

/// The graph as a model of its own, with inputs x0, x1, .. and outputs y0, y1, ..
[[nodiscard]] model::Model to_model(Graph const& graph);

/// Ops put together one by one, for the right side of a rule. Constants are folded as soon as they are made.
class Builder {
public:
    /// Both outlive it.
    Builder(Graph& graph, class Folder& folder) : graph_(graph), folder_(folder) {}

    /// The results of the op, or nothing if the operands do not fit or this opset has no such op.
    [[nodiscard]] std::optional<std::vector<ValueId>> apply(KernelPtr const& kernel, std::vector<ValueId> in,
                                                            std::size_t outputs = 1);
    [[nodiscard]] std::optional<ValueId> one(KernelPtr const& kernel, std::vector<ValueId> in);
    [[nodiscard]] ValueId constant(ConstantPtr constant);
    /// A real one of the type of another value.
    [[nodiscard]] ValueId number(double value, ValueId like);
    [[nodiscard]] ValueId wholes(std::vector<std::int64_t> values);
    [[nodiscard]] Graph const& graph() const { return graph_; }

private:
    [[nodiscard]] ValueId add(GraphValue value);

    Graph& graph_;
    Folder& folder_;
};

/// Ops on constants, each computed once. Per thread.
class Folder {
public:
    /// What the op makes of the values, by its definition; nothing if it is not understood there.
    [[nodiscard]] std::optional<std::vector<GraphValue>> apply(Kernel const& kernel, std::int64_t opset,
                                                               std::span<GraphValue const> in, std::size_t outputs);

private:
    [[nodiscard]] std::optional<std::vector<GraphValue>> made(Kernel const& kernel, std::int64_t opset,
                                                              std::span<GraphValue const> in, std::size_t outputs);

    std::map<std::uint64_t, std::optional<std::vector<GraphValue>>> known_;
    std::size_t elements_ = 0; ///< in known_
};

} // namespace espalier::problems::rewrite
