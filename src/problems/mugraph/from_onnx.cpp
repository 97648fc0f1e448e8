#include "from_onnx.hpp"

#include "espalier/base/error.hpp"
#include "espalier/model/evaluate.hpp"
#include "espalier/model/onnx.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <functional>
#include <set>

namespace espalier::problems::mugraph {
namespace {

std::optional<program::DType> dtype_of(model::Element element) {
    switch (element) {
    case model::Element::f16:
        return program::DType::f16;
    case model::Element::bf16:
        return program::DType::bf16;
    case model::Element::f32:
        return program::DType::f32;
    case model::Element::f64:
        return program::DType::f64;
    default:
        return std::nullopt;
    }
}

/// ONNX's names and ours, where nothing else differs.
struct SameOp {
    std::string_view onnx, ours;
};
constexpr std::array<SameOp, 17> plain_ops{{{"MatMul", "matmul"},
                                            {"Add", "add"},
                                            {"Sub", "sub"},
                                            {"Mul", "mul"},
                                            {"Div", "div"},
                                            {"Pow", "pow"},
                                            {"Max", "max"},
                                            {"Min", "min"},
                                            {"Relu", "relu"},
                                            {"Sigmoid", "sigmoid"},
                                            {"Tanh", "tanh"},
                                            {"Exp", "exp"},
                                            {"Log", "log"},
                                            {"Sqrt", "sqrt"},
                                            {"Reciprocal", "reciprocal"},
                                            {"Neg", "neg"},
                                            {"Abs", "abs"}}};
constexpr std::array<SameOp, 4> reductions{
    {{"ReduceSum", "sum"}, {"ReduceMean", "mean"}, {"ReduceMax", "max"}, {"ReduceMin", "min"}}};

class BlockReader {
public:
    explicit BlockReader(std::string const& path)
        : path_(path), model_(model::read_onnx(path)), facts_(model::infer(model_)) {}

    [[nodiscard]] program::Source read() {
        if (model_.inputs.empty()) throw base::InputError("{}: it has no inputs", path_);
        out_.dtype = real_type(model_.inputs.front().name);
        for (auto const& input : model_.inputs) add_input(input.name, dims_of(input.name, "input"));
        for (auto const& node : model_.nodes) add(node);
        for (auto const& output : model_.outputs) out_.outputs.push_back(operand(output.name));
        return std::move(out_);
    }

private:
    template <class... Args>
    [[noreturn]] void refuse(model::Node const& node, fmt::format_string<Args...> format, Args&&... args) const {
        throw base::InputError("{}: node '{}' ({}): {}", path_, node.name, node.op,
                               fmt::format(format, std::forward<Args>(args)...));
    }
    [[nodiscard]] program::DType real_type(std::string const& name) const {
        auto const type = facts_.types.find(name);
        auto const dtype = type == facts_.types.end() ? std::nullopt : dtype_of(type->second.element);
        if (!dtype) throw base::InputError("{}: '{}' is not a tensor of real numbers of a known shape", path_, name);
        return *dtype;
    }
    [[nodiscard]] model::Dims const& dims_of(std::string const& name, std::string_view what) const {
        auto const type = facts_.types.find(name);
        if (type == facts_.types.end())
            throw base::InputError("{}: the shape of the {} '{}' is not known: export the model with it", path_, what,
                                   name);
        return type->second.dims;
    }

    /// Letters, digits and _, a letter first; each once.
    [[nodiscard]] std::string fresh_name(std::string const& name) {
        std::string out;
        for (auto const c : name) out += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
        if (out.empty() || std::isalpha(static_cast<unsigned char>(out.front())) == 0) out = "t" + out;
        auto const stem = out;
        for (int i = 2; !used_.insert(out).second; ++i) out = fmt::format("{}_{}", stem, i);
        return out;
    }
    void add_input(std::string const& name, model::Dims const& dims) {
        if (real_type(name) != out_.dtype)
            throw base::InputError("{}: '{}' is of another type than '{}': all tensors must have one", path_, name,
                                   model_.inputs.front().name);
        program::SourceInput input{fresh_name(name), {}};
        for (auto const size : dims) input.dims.push_back(fmt::to_string(size));
        names_[name] = input.name;
        out_.inputs.push_back(std::move(input));
    }
    /// A constant that is read becomes an input that stays the same; `rank`: with ones before its dimensions.
    [[nodiscard]] std::string weight(std::string const& name, std::size_t rank) {
        auto dims = dims_of(name, "constant");
        while (dims.size() < rank) dims.insert(dims.begin(), 1);
        add_input(name, dims);
        out_.weights.push_back(names_[name]);
        return names_[name];
    }
    [[nodiscard]] std::optional<double> number(std::string const& name) const {
        auto const* const tensor = model_.constant(name);
        if (tensor == nullptr || tensor->size() != 1 || !model::is_real(tensor->element)) return std::nullopt;
        return model::to_array(*tensor).reals.front();
    }
    /// Of the table: a tensor, or a number.
    [[nodiscard]] std::string operand(std::string const& name, std::size_t rank = 0) {
        if (auto const found = names_.find(name); found != names_.end()) return found->second;
        if (auto const value = number(name)) return fmt::format("{}", static_cast<float>(*value));
        if (model_.constant(name) != nullptr) return weight(name, rank);
        throw base::InputError("{}: '{}' is made by something that is not part of a program", path_, name);
    }

    void put(model::Node const& node, std::string op, std::vector<std::string> in, program::Attributes attributes = {},
             std::vector<program::AttributeWords> words = {}) {
        names_[node.outputs.front()] = fresh_name(node.outputs.front());
        out_.ops.push_back(
            {{names_[node.outputs.front()]}, std::move(op), std::move(in), std::move(attributes), std::move(words)});
    }
    /// A result that the model does not have.
    [[nodiscard]] std::string put_inner(std::string const& stem, std::string op, std::vector<std::string> in,
                                        program::Attributes attributes = {}) {
        auto name = fresh_name(stem);
        out_.ops.push_back({{name}, std::move(op), std::move(in), std::move(attributes), {}});
        return name;
    }
    [[nodiscard]] std::size_t rank_of(std::string const& name) const { return dims_of(name, "value").size(); }

    void add(model::Node const& node) {
        if (is_whole(node)) return; // it says how: infer() knows it
        if (!node.domain.empty()) refuse(node, "ops of the domain {} are not understood", node.domain);
        if (auto const why = model::not_understood(node, model_, facts_)) refuse(node, "{}", *why);
        auto const is_of = [&](auto const& row) { return row.onnx == node.op; };
        if (auto const row = std::ranges::find_if(plain_ops, is_of); row != plain_ops.end()) {
            std::vector<std::string> in;
            auto const rank = node.op == "MatMul" ? 0 : rank_of(node.outputs.front());
            for (auto const& name : node.inputs) in.push_back(operand(name, rank));
            return put(node, std::string(row->ours), std::move(in));
        }
        if (auto const row = std::ranges::find_if(reductions, is_of); row != reductions.end())
            return add_reduction(node, std::string(row->ours));
        auto const maker = makers().find(node.op);
        if (maker == makers().end())
            refuse(node, "programs have no such op: `espalier optimize` rewrites whole models, a program is a block");
        maker->second(*this, node);
    }
    [[nodiscard]] bool is_whole(model::Node const& node) const {
        return std::ranges::all_of(node.outputs,
                                   [&](auto const& name) { return name.empty() || facts_.constants.contains(name); });
    }

    using Maker = std::function<void(BlockReader&, model::Node const&)>;
    [[nodiscard]] static std::map<std::string, Maker> const& makers() {
        static std::map<std::string, Maker> const all{
            {"Identity", [](BlockReader& r, model::Node const& n) { r.names_[n.outputs[0]] = r.operand(n.inputs[0]); }},
            {"Dropout", [](BlockReader& r, model::Node const& n) { r.names_[n.outputs[0]] = r.operand(n.inputs[0]); }},
            {"Gemm", [](BlockReader& r, model::Node const& n) { r.add_gemm(n); }},
            {"Softmax", [](BlockReader& r, model::Node const& n) { r.add_softmax(n); }},
            {"LayerNormalization", [](BlockReader& r, model::Node const& n) { r.add_layer_norm(n); }},
            {"Gelu", [](BlockReader& r, model::Node const& n) { r.add_gelu(n); }},
            {"Clip", [](BlockReader& r, model::Node const& n) { r.add_clip(n); }},
            {"Transpose", [](BlockReader& r, model::Node const& n) { r.add_transpose(n); }},
            {"Reshape", [](BlockReader& r, model::Node const& n) { r.add_reshape(n); }},
            {"Flatten", [](BlockReader& r, model::Node const& n) { r.add_reshape(n); }},
            {"Squeeze", [](BlockReader& r, model::Node const& n) { r.add_reshape(n); }},
            {"Unsqueeze", [](BlockReader& r, model::Node const& n) { r.add_reshape(n); }},
        };
        return all;
    }

    [[nodiscard]] std::int64_t whole(model::Node const& node, char const* name, std::int64_t otherwise) const {
        auto const found = node.attributes.find(name);
        auto const* const value = found == node.attributes.end() ? nullptr : std::get_if<std::int64_t>(&found->second);
        return value != nullptr ? *value : otherwise;
    }
    [[nodiscard]] double real(model::Node const& node, char const* name, double otherwise) const {
        auto const found = node.attributes.find(name);
        auto const* const value = found == node.attributes.end() ? nullptr : std::get_if<float>(&found->second);
        return value != nullptr ? static_cast<double>(*value) : otherwise;
    }
    /// An attribute in older opsets, an operand in newer ones.
    [[nodiscard]] std::vector<std::int64_t> wholes(model::Node const& node, char const* name, std::size_t input) const {
        auto const found = node.attributes.find(name);
        if (found != node.attributes.end())
            if (auto const* const list = std::get_if<std::vector<std::int64_t>>(&found->second)) return *list;
        auto const operand = node.input(input);
        if (auto const* const tensor = model_.constant(operand)) return model::to_array(*tensor).wholes;
        auto const inferred = facts_.constants.find(operand);
        return inferred == facts_.constants.end() ? std::vector<std::int64_t>{}
                                                  : model::to_array(*inferred->second).wholes;
    }

    void add_reduction(model::Node const& node, std::string const& ours) {
        if (whole(node, "keepdims", 1) != 1) refuse(node, "it drops the dimension: export it with keepdims");
        auto axes = wholes(node, "axes", 1);
        auto const rank = static_cast<std::int64_t>(rank_of(node.inputs[0]));
        if (axes.empty())
            for (std::int64_t i = 0; i < rank; ++i) axes.push_back(i);
        std::vector<double> values;
        for (auto const axis : axes) values.push_back(static_cast<double>(axis < 0 ? axis : axis - rank));
        put(node, ours, {operand(node.inputs[0])}, program::Attributes().with(program::AttributeName::axis, values));
    }
    void add_gemm(model::Node const& node) {
        if (whole(node, "transA", 0) != 0 || real(node, "alpha", 1) != 1 || real(node, "beta", 1) != 1)
            refuse(node, "only products without alpha, beta and a transposed first operand");
        auto const* const op = whole(node, "transB", 0) != 0 ? "matmul_nt" : "matmul";
        std::vector<std::string> const factors{operand(node.inputs[0]), operand(node.inputs[1])};
        if (node.input(2).empty()) return put(node, op, factors);
        auto const product = put_inner("product", op, factors);
        put(node, "add", {product, operand(node.inputs[2], 2)});
    }
    void add_softmax(model::Node const& node) {
        auto const rank = static_cast<std::int64_t>(rank_of(node.inputs[0]));
        auto const axis = whole(node, "axis", model_.opset() >= 13 ? -1 : 1);
        auto const from_end = axis < 0 ? axis : axis - rank;
        if (model_.opset() < 13 && from_end != -1) refuse(node, "before opset 13 only along the last axis");
        put(node, "softmax", {operand(node.inputs[0])}, program::Attributes::axis(from_end));
    }
    void add_layer_norm(model::Node const& node) {
        auto const rank = static_cast<std::int64_t>(rank_of(node.inputs[0]));
        auto const axis = whole(node, "axis", -1);
        if (axis != -1 && axis != rank - 1) refuse(node, "only along the last axis");
        auto const eps =
            program::Attributes().with(program::AttributeName::eps, std::vector{real(node, "epsilon", 1e-5)});
        auto const has_bias = !node.input(2).empty();
        auto const normed = put_inner("normed", "layernorm", {operand(node.inputs[0])}, eps);
        auto const scale = operand(node.inputs[1], static_cast<std::size_t>(rank));
        if (!has_bias) return put(node, "mul", {normed, scale});
        auto const scaled = put_inner("scaled", "mul", {normed, scale});
        put(node, "add", {scaled, operand(node.inputs[2], static_cast<std::size_t>(rank))});
    }
    void add_gelu(model::Node const& node) {
        auto const found = node.attributes.find("approximate");
        auto const* const word = found == node.attributes.end() ? nullptr : std::get_if<std::string>(&found->second);
        if (word != nullptr && *word != "none") refuse(node, "only the exact one, not approximate: {}", *word);
        put(node, "gelu", {operand(node.inputs[0])});
    }
    void add_clip(model::Node const& node) {
        program::Attributes bounds;
        auto const bound = [&](program::AttributeName ours, char const* name, std::size_t input) {
            if (node.attributes.contains(name)) bounds = bounds.with(ours, std::vector{real(node, name, 0)});
            if (node.input(input).empty()) return;
            auto const value = number(node.input(input));
            if (!value) refuse(node, "its bounds must be constants");
            bounds = bounds.with(ours, std::vector{*value});
        };
        bound(program::AttributeName::low, "min", 1);
        bound(program::AttributeName::high, "max", 2);
        put(node, "clamp", {operand(node.inputs[0])}, bounds);
    }
    void add_transpose(model::Node const& node) {
        auto order = wholes(node, "perm", 9);
        if (order.empty())
            for (auto i = static_cast<std::int64_t>(rank_of(node.inputs[0])); i-- > 0;) order.push_back(i);
        put(node, "transpose", {operand(node.inputs[0])},
            program::Attributes().with(program::AttributeName::permutation,
                                       std::vector<double>(order.begin(), order.end())));
    }
    void add_reshape(model::Node const& node) {
        program::AttributeWords shape{program::AttributeName::shape, {}};
        for (auto const size : dims_of(node.outputs.front(), "value")) shape.words.push_back(fmt::to_string(size));
        put(node, "reshape", {operand(node.inputs[0])}, {}, {std::move(shape)});
    }

    std::string path_;
    model::Model model_;
    model::Facts facts_;
    program::Source out_;
    std::map<std::string, std::string> names_; ///< of values of the model
    std::set<std::string> used_;
};

} // namespace

program::Source source_from_onnx(std::string const& path) {
    auto source = BlockReader(path).read();
    std::string problems;
    for (auto const& problem : program::check(source)) {
        auto const where =
            problem.part == program::SourceProblem::Part::op
                ? fmt::format("'{}' ({}): ", source.ops[problem.index].out.front(), source.ops[problem.index].op)
                : std::string();
        problems += fmt::format("{}{}{}", problems.empty() ? "" : "; ", where, problem.message);
    }
    if (!problems.empty()) throw base::InputError("{}: {}", path, problems);
    return source;
}

} // namespace espalier::problems::mugraph
