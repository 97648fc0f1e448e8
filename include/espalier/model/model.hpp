#pragma once

#include "espalier/base/bytes.hpp"

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

/// Whole networks, as ONNX describes them. Nothing here knows the file format; see onnx.hpp.
namespace espalier::model {

/// What the elements of a tensor are, by ONNX's numbers.
enum class Element : std::int32_t {
    none = 0,
    f32 = 1,
    u8 = 2,
    i8 = 3,
    u16 = 4,
    i16 = 5,
    i32 = 6,
    i64 = 7,
    text = 8,
    boolean = 9,
    f16 = 10,
    f64 = 11,
    u32 = 12,
    u64 = 13,
    c64 = 14,
    c128 = 15,
    bf16 = 16,
};
struct ElementInfo {
    std::string_view name;
    std::int64_t size_bytes; ///< 0: not fixed
};
inline constexpr std::array<ElementInfo, 17> elements{{{"none", 0},
                                                       {"f32", 4},
                                                       {"u8", 1},
                                                       {"i8", 1},
                                                       {"u16", 2},
                                                       {"i16", 2},
                                                       {"i32", 4},
                                                       {"i64", 8},
                                                       {"text", 0},
                                                       {"boolean", 1},
                                                       {"f16", 2},
                                                       {"f64", 8},
                                                       {"u32", 4},
                                                       {"u64", 8},
                                                       {"c64", 8},
                                                       {"c128", 16},
                                                       {"bf16", 2}}};
[[nodiscard]] constexpr ElementInfo const& info(Element element) { return elements[static_cast<std::size_t>(element)]; }
/// Rules over the real numbers hold for these, up to rounding; for no others.
[[nodiscard]] constexpr bool is_real(Element element) {
    return element == Element::f32 || element == Element::f16 || element == Element::f64 || element == Element::bf16;
}

using Dims = std::vector<std::int64_t>;

/// A tensor with its elements: rows first, little-endian, as in ONNX's raw data; texts apart.
struct Tensor {
    Element element = Element::none;
    Dims dims;
    base::Bytes bytes;
    std::vector<std::string> texts;

    [[nodiscard]] std::int64_t size() const;
    bool operator==(Tensor const&) const = default;
};
/// How many elements there are.
[[nodiscard]] std::int64_t element_count(Dims const& dims);
/// Shared by all models that rewriting makes of one.
using TensorPtr = std::shared_ptr<Tensor const>;

/// A dimension of a value: a size, a name that the caller gives a size, or nothing.
struct Dimension {
    std::optional<std::int64_t> size;
    std::string name;

    bool operator==(Dimension const&) const = default;
};
struct Type {
    Element element = Element::none; ///< none: not known, or not a tensor
    std::optional<std::vector<Dimension>> shape;

    bool operator==(Type const&) const = default;
};
struct Value {
    std::string name;
    Type type;

    bool operator==(Value const&) const = default;
};

/// An attribute that is not one of the others: a graph, a sparse tensor, .. as the file has it.
struct Raw {
    std::string bytes;

    bool operator==(Raw const&) const = default;
};
using Attribute = std::variant<std::int64_t, float, std::string, TensorPtr, std::vector<std::int64_t>,
                               std::vector<float>, std::vector<std::string>, Raw>;

/// One op of a graph.
struct Node {
    std::string op;
    std::string domain; ///< empty: ONNX's own
    std::string name;
    std::vector<std::string> inputs; ///< empty: left out
    std::vector<std::string> outputs;
    std::map<std::string, Attribute> attributes;
    std::optional<std::size_t>
        origin; ///< which node of the file it was; what is the same is written as it stands there
    std::vector<std::string> captured; ///< names from outside that its graphs use: they must be there, unchanged

    [[nodiscard]] std::string input(std::size_t i) const { return i < inputs.size() ? inputs[i] : std::string{}; }
};

struct OnnxFile; ///< everything about the file that is not here; kept, and written again

/// The graph of a model. A value, cheap to copy: data are shared.
///
/// Names are what connects nodes; every name is made once (by an input, a constant or a node). Nodes stand after those
/// whose outputs they use.
struct Model {
    std::string name;
    std::vector<Value> inputs; ///< what the caller gives, defaults that it may replace included
    std::vector<Value> outputs;
    std::vector<Node> nodes;
    std::map<std::string, TensorPtr> constants; ///< that nobody can replace: initializers and Constant nodes
    std::map<std::string, TensorPtr> defaults;  ///< of inputs that the caller may leave out
    std::set<std::string> unread; ///< constants of kinds that are only kept: sparse ones, 8-bit floats and the like
    std::map<std::string, Type> types;          ///< what the file says about inner values
    std::map<std::string, std::int64_t> opsets; ///< by domain
    std::shared_ptr<OnnxFile const> file;       ///< null: it was not read from one

    [[nodiscard]] std::int64_t opset() const {
        auto const found = opsets.find("");
        return found == opsets.end() ? 0 : found->second;
    }
    [[nodiscard]] Tensor const* constant(std::string const& value) const {
        auto const found = constants.find(value);
        return found == constants.end() ? nullptr : found->second.get();
    }
};

} // namespace espalier::model
