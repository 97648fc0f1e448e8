#include "elaborate.hpp"

#include "limits.hpp"
#include "source_tables.hpp"
#include "suggest.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

namespace espalier::program {
namespace {

using Part = SourceProblem::Part;

/// Goes through a source once. What is wrong makes a tensor unknown, and unknown tensors give no further messages.
class Elaborator : private SourceTables {
public:
    using SourceTables::SourceTables;

    Elaboration run() {
        out_.graph.dtype = source_.dtype;
        for (std::size_t i = 0; i < source_.dims.size(); ++i) add_dim(i);
        check_symbols();
        for (std::size_t i = 0; i < source_.inputs.size(); ++i) add_input(i);
        for (std::size_t i = 0; i < source_.ops.size(); ++i) add_op(i);
        for (std::size_t i = 0; i < source_.outputs.size(); ++i) add_output(i);
        check_whole();
        check_unread();
        return std::move(out_);
    }

private:
    // --- ops

    void add_op(std::size_t i) {
        auto const& op = source_.ops[i];
        auto const operands = read(i);
        if (auto const of = transposed_by(i, operands)) {
            define(op.out.front(), Part::op, i, std::nullopt);
            tensors_.at(op.out.front()).transposed = of;
            return;
        }
        auto const result = result_of(i, operands);
        if (op.out.size() != 1)
            problem(Part::op, i, "{} outputs, but {} has one: name one tensor", op.out.size(), op.op);
        for (auto const& name : op.out) define(name, Part::op, i, result);
    }
    std::optional<TensorId> result_of(std::size_t i, std::optional<TensorIds> const& operands) {
        auto const& op = source_.ops[i];
        if (auto const* const composition = find_composition(op.op)) return compose(i, *composition, operands);
        auto code = code_of(op.op);
        if (!code) {
            problem(Part::op, i, "there is no op '{}': {}", op.op, did_you_mean(op.op, known_ops()));
            return std::nullopt;
        }
        if (std::exchange(is_transposed_, false)) code = OpCode::matmul_nt;
        if (op.in.size() == 2 && *code == OpCode::max) code = OpCode::maximum;
        if (op.in.size() == 2 && *code == OpCode::min) code = OpCode::minimum;
        if (!is_called_well(i, info(*code)) || !operands) return std::nullopt;
        if (operands->size() != op.in.size()) return apply_with_constant(i, *code, *operands);
        if (auto const vector = product_with_vector(i, *code, *operands)) return *vector;
        return over_axes(i, op.attributes, operands->front(), [&](TensorId first, Attributes const& attributes) {
            auto in = *operands;
            in.front() = first;
            return apply(i, *code, in, attributes);
        });
    }
    /// The ids of those operands that are tensors, or nothing if one is unknown.
    std::optional<TensorIds> read(std::size_t i) {
        TensorIds ids;
        std::size_t constants = 0;
        for (auto const& name : source_.ops[i].in) {
            auto const found = tensors_.find(name);
            if (found == tensors_.end() && constant_of(name)) {
                ++constants;
                continue;
            }
            if (found == tensors_.end()) {
                problem(Part::op, i, "there is no tensor '{}' before this op: {}", name,
                        did_you_mean(name, tensor_names()));
                continue;
            }
            if (auto const id = read(found->second, i, ids.size())) ids.push_back(*id);
        }
        if (ids.size() + constants != source_.ops[i].in.size()) return std::nullopt;
        return ids;
    }
    /// A transpose of the last two dimensions, which the right operand of a matmul needs not be.
    std::optional<TensorId> transposed_by(std::size_t i, std::optional<TensorIds> const& operands) const {
        auto const& op = source_.ops[i];
        if (code_of(op.op) != OpCode::transpose || !operands || operands->size() != 1 || op.out.size() != 1) return {};
        if (op.in.size() != 1 ||
            op.attributes.items().size() > (op.attributes.find(AttributeName::permutation) ? 1u : 0u))
            return {};
        auto const rank = shape(operands->front()).rank();
        auto const order = permutation_of(op.attributes, rank);
        if (!order || order != permutation_of({}, rank) || tensors_.contains(op.out.front())) return {};
        return operands->front();
    }
    /// The tensor that operand `position` of op i is.
    std::optional<TensorId> read(Tensor& tensor, std::size_t i, std::size_t position) {
        tensor.is_read = true;
        if (!tensor.transposed) return tensor.id;
        auto const& op = source_.ops[i];
        auto const is_product = code_of(op.op) == OpCode::matmul && op.in.size() == 2 && position == 1;
        if (is_product && shape(*tensor.transposed).rank() >= 2) {
            is_transposed_ = true;
            return tensor.transposed;
        }
        return made(tensor);
    }
    /// The transpose itself.
    std::optional<TensorId> made(Tensor& tensor) {
        if (tensor.transposed && !tensor.id)
            tensor.id =
                apply(tensor.index, OpCode::transpose, {*tensor.transposed}, source_.ops[tensor.index].attributes);
        return tensor.id;
    }
    std::optional<TensorId> apply_with_constant(std::size_t i, OpCode code, TensorIds const& operands) {
        auto const& in = source_.ops[i].in;
        auto const is_left = constant_of(in[0]).has_value() && !tensors_.contains(in[0]);
        auto const steps = in.size() == 2 && operands.size() == 1
                               ? with_constant(code, *constant_of(in[is_left ? 0 : 1]),
                                               is_left ? ConstantSide::left : ConstantSide::right)
                               : std::nullopt;
        if (steps) return run(i, *steps, operands, {});
        problem(Part::op, i,
                "{} of {} cannot be taken: a constant stands beside a tensor in add, sub, mul, div, max and min, or is "
                "the exponent 2, 0.5, -1 or -0.5 of a pow",
                source_.ops[i].op, fmt::join(in, " and "));
        return std::nullopt;
    }
    std::optional<TensorId> compose(std::size_t i, Composition const& composition,
                                    std::optional<TensorIds> const& operands) {
        auto const& op = source_.ops[i];
        auto const before = out_.problems.size();
        if (static_cast<int>(op.in.size()) != composition.inputs || (operands && operands->size() != op.in.size()))
            problem(Part::op, i, "{} takes {} tensor{}, not numbers, got {}: {}", op.op, composition.inputs,
                    composition.inputs == 1 ? "" : "s", op.in.size(),
                    op.in.empty() ? "name its operands" : fmt::format("{}", fmt::join(op.in, ", ")));
        auto const& row = info(composition.has_axis ? OpCode::sum : OpCode::exp);
        for (auto const& attribute : op.attributes.items())
            if (auto const wrong = problem_of(i, row, attribute)) problem(Part::op, i, "{}", *wrong);
        if (out_.problems.size() != before || !operands) return std::nullopt;
        return over_axes(i, op.attributes, operands->front(), [&](TensorId first, Attributes const& attributes) {
            return run(i, composition.steps, {first}, attributes);
        });
    }
    std::optional<TensorId> run(std::size_t i, std::vector<CompositionStep> const& steps, TensorIds tensors,
                                Attributes const& attributes) {
        for (auto const& step : steps) {
            TensorIds in;
            for (auto const at : step.in) in.push_back(tensors[static_cast<std::size_t>(at)]);
            auto own = step.has_axis ? attributes : step.attributes;
            if (step.is_over_count) {
                auto const axis = axis_of(attributes, shape(tensors[0]));
                own = own.with(AttributeName::over, axis ? shape(tensors[0])[*axis] : 1);
            }
            auto const made = apply(i, step.op, in, own);
            if (!made) return std::nullopt;
            tensors.push_back(*made);
        }
        return tensors.back();
    }
    /// One axis after the other, where several are given: only reductions and what is made of one can have that.
    template <class Each>
    std::optional<TensorId> over_axes(std::size_t i, Attributes const& attributes, TensorId first, Each const& each) {
        auto const* const axes = attributes.find(AttributeName::axis);
        if (!axes || axes->values.size() == 1) return each(first, attributes);
        std::vector<int> seen;
        std::optional<TensorId> out = first;
        for (auto const axis : axes->values) {
            auto const one = attributes.with(AttributeName::axis, static_cast<std::int64_t>(axis));
            auto const front = axis_of(one, shape(first));
            if (front && std::ranges::count(seen, *front)) {
                problem(Part::op, i, "`axis` names one dimension twice: remove one");
                return std::nullopt;
            }
            seen.push_back(front.value_or(-1));
            out = each(*out, one);
            if (!out) break;
        }
        return out;
    }
    /// A matrix times a vector is a product with every row, summed; what is not one is left to the others.
    std::optional<std::optional<TensorId>> product_with_vector(std::size_t i, OpCode code, TensorIds const& in) {
        if (code != OpCode::matmul || shape(in[0]).rank() < 2 || shape(in[1]).rank() != 1) return std::nullopt;
        auto const product = apply(i, OpCode::mul, in, {});
        return product ? apply(i, OpCode::sum, {*product}, {}) : std::nullopt;
    }
    [[nodiscard]] std::vector<std::string> tensor_names() const {
        std::vector<std::string> names;
        for (auto const& [name, tensor] : tensors_) names.push_back(name);
        return names;
    }
    /// Sums, means and extrema may be over several axes.
    [[nodiscard]] std::optional<std::string> problem_of(std::size_t i, OpInfo const& row,
                                                        Attribute const& attribute) const {
        auto const& rule = row.field;
        auto const& name = source_.ops[i].op;
        auto const may_be_list = attribute.name == AttributeName::axis && rule.access == Access::reduction &&
                                 !rule.reduction.root_mean && !rule.reduction.to_size && !attribute.values.empty() &&
                                 name != "softmax" && name != "unsafe_softmax" && name != "variance";
        if (!may_be_list) return program::problem_of(row, attribute);
        for (auto const value : attribute.values)
            if (auto const wrong = program::problem_of(row, {attribute.name, {value}})) return wrong;
        return std::nullopt;
    }
    bool is_called_well(std::size_t i, OpInfo const& row) {
        auto const before = out_.problems.size();
        auto const& op = source_.ops[i];
        if (!row.at[static_cast<std::size_t>(Level::kernel)])
            problem(Part::op, i,
                    "{} stands only in graph-defined kernels, which the search makes: write the program with ops such "
                    "as sum",
                    op.op);
        if (static_cast<int>(op.in.size()) != row.inputs)
            problem(Part::op, i, "{} takes {} operand{}, got {}: {}", op.op, row.inputs, row.inputs == 1 ? "" : "s",
                    op.in.size(), op.in.empty() ? "name its operands" : fmt::format("{}", fmt::join(op.in, ", ")));
        for (auto const& attribute : op.attributes.items())
            if (auto const wrong = problem_of(i, row, attribute)) problem(Part::op, i, "{}", *wrong);
        if (row.field.reduction.to_size && !op.attributes.find(AttributeName::size))
            problem(Part::op, i, "{} needs `size`: how many columns are left", op.op);
        return out_.problems.size() == before;
    }
    std::optional<TensorId> apply(std::size_t i, OpCode code, TensorIds const& in, Attributes const& attributes) {
        auto const sizes = numbers(code, in, attributes);
        if (!sizes) {
            problem(Part::op, i, "{} needs {}, got {}", source_.ops[i].op, info(code).needs, shapes_text(i, in));
            return std::nullopt;
        }
        auto const names = symbols(code, in, attributes);
        if (!names) {
            problem(Part::op, i,
                    "{} fits only because different dimensions have one size, got {}: give one name to dimensions that "
                    "are the same",
                    source_.ops[i].op, shapes_text(i, in));
            return std::nullopt;
        }
        if (!is_of_bearable_size(Part::op, i, *sizes)) return std::nullopt;
        out_.graph.ops.push_back({code, attributes, in, -1});
        out_.source_ops.push_back(i);
        return push(*sizes, *names);
    }
    [[nodiscard]] std::optional<Shape> numbers(OpCode code, TensorIds const& in, Attributes const& a) const {
        std::vector<Shape> shapes;
        for (auto const id : in) shapes.push_back(shape(id));
        return info(code).shape({shapes, a, a.whole(AttributeName::size, 0), 1});
    }
    /// A graph with too many symbols is refused anyway: its shapes say nothing.
    [[nodiscard]] std::optional<SymbolicShape> symbols(OpCode code, TensorIds const& in, Attributes const& a) const {
        if (!is_symbolic_) return SymbolicShape{};
        std::vector<SymbolicShape> shapes;
        for (auto const id : in) shapes.push_back(words(id));
        auto const size = a.whole(AttributeName::size, 1);
        return info(code).symbolic_shape({shapes, a, word_of(std::to_string(size), size), {}});
    }

    /// `X [B, K] = [2, 4096] and W [K, N] = [4096, 6144]`.
    [[nodiscard]] std::string shapes_text(std::size_t i, TensorIds const& in) const {
        auto const& names = source_.ops[i].in;
        std::string out;
        for (std::size_t j = 0; j < in.size(); ++j) {
            auto const has_name = j < names.size() && tensors_.contains(names[j]) && tensors_.at(names[j]).id == in[j];
            out += fmt::format("{}{} {}", out.empty() ? "" : " and ", has_name ? names[j] : "a tensor within it",
                               shape_text(in[j]));
        }
        return out;
    }
    [[nodiscard]] std::string shape_text(TensorId id) const {
        auto const sizes = to_text(shape(id));
        std::vector<std::string> names;
        for (auto const& word : words(id)) names.push_back(symbol_name(word));
        auto const named = fmt::format("[{}]", fmt::join(names, ", "));
        return !is_symbolic_ || named == sizes ? sizes : fmt::format("{} = {}", named, sizes);
    }
    /// At kernel level every size is one symbol, or 1.
    [[nodiscard]] std::string symbol_name(Word const& word) const {
        for (std::size_t s = 0; s < symbols_.names.size(); ++s)
            if (word.exponent(static_cast<int>(s)) != 0) return symbols_.names[s];
        return "1";
    }

    // --- outputs and the whole

    void add_output(std::size_t i) {
        auto const& name = source_.outputs[i];
        auto const found = tensors_.find(name);
        if (found == tensors_.end())
            return problem(Part::output, i, "there is no tensor '{}': {}", name, did_you_mean(name, tensor_names()));
        auto& tensor = found->second;
        tensor.is_read = true;
        if (tensor.part == Part::input)
            return problem(Part::output, i, "{} is an input: output a tensor that an op makes", name);
        if (std::exchange(tensor.is_output, true))
            return problem(Part::output, i, "{} is output twice: remove one", name);
        if (auto const id = made(tensor)) out_.graph.outputs.push_back(*id);
    }
    void check_whole() {
        if (source_.ops.empty())
            problem(Part::whole, 0, "a program without ops: there is nothing to optimise, add ops");
        if (source_.outputs.empty()) problem(Part::whole, 0, "a program without outputs: name the tensors it computes");
        for (auto const& name : source_.weights) {
            auto const found = tensors_.find(name);
            if (found == tensors_.end() || found->second.part != Part::input)
                problem(Part::whole, 0, "weights: {} is not an input of the program: {}", name,
                        did_you_mean(name, input_names()));
        }
    }
    [[nodiscard]] std::vector<std::string> input_names() const {
        std::vector<std::string> names;
        for (auto const& input : source_.inputs) names.push_back(input.name);
        return names;
    }
    void check_unread() {
        for (auto const& [name, tensor] : tensors_)
            if (!tensor.is_read)
                problem(tensor.part, tensor.index, "{} is never used: remove it{}", name,
                        tensor.part == Part::op ? " or output it" : "");
    }

    bool is_transposed_ = false; ///< the right operand of the matmul at hand
};

} // namespace

std::optional<std::int64_t> literal_size(std::string_view dim) {
    auto const digits = dim.starts_with('-') ? dim.substr(1) : dim;
    if (digits.empty() || !std::ranges::all_of(digits, [](unsigned char c) { return std::isdigit(c) != 0; }))
        return std::nullopt;
    constexpr std::size_t longest = 18; // beyond every size that is supported, and still a 64-bit number
    return std::stoll(std::string(dim.substr(0, longest)));
}

Elaboration elaborate(Source const& source) { return Elaborator(source).run(); }

} // namespace espalier::program
