#include "elaborate.hpp"

#include "elaborator.hpp"
#include "suggest.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

namespace espalier::program {

Elaboration Elaborator::run() {
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

void Elaborator::add_op(std::size_t i) {
    auto const& op = source_.ops[i];
    auto const operands = read(i);
    if (auto const of = transposed_by(i, operands)) {
        define(op.out.front(), Part::op, i, std::nullopt);
        tensors_.at(op.out.front()).transposed = of;
        return;
    }
    auto const result = result_of(i, operands);
    if (op.out.size() != 1) problem(Part::op, i, "{} outputs, but {} has one: name one tensor", op.out.size(), op.op);
    for (auto const& name : op.out) define(name, Part::op, i, result);
}

std::optional<TensorId> Elaborator::result_of(std::size_t i, std::optional<TensorIds> const& operands) {
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
    if (info(*code).field.access == Access::rearrange && info(*code).field.move != Move::permute)
        return moved(i, *code, *operands);
    if (takes_dtype(info(*code))) return cast(i, *code, *operands);
    if (auto const vector = product_with_vector(i, *code, *operands)) return *vector;
    if (auto const product = product_with_ones(i, *code, *operands)) return *product;
    return over_axes(i, op.attributes, operands->front(), [&](TensorId first, Attributes const& attributes) {
        auto in = *operands;
        in.front() = first;
        return apply(i, *code, in, attributes);
    });
}

std::optional<TensorIds> Elaborator::read(std::size_t i) {
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

std::optional<TensorId> Elaborator::transposed_by(std::size_t i, std::optional<TensorIds> const& operands) const {
    auto const& op = source_.ops[i];
    if (code_of(op.op) != OpCode::transpose || !operands || operands->size() != 1 || op.out.size() != 1) return {};
    if (op.in.size() != 1 || op.attributes.items().size() > (op.attributes.find(AttributeName::permutation) ? 1u : 0u))
        return {};
    auto const rank = shape(operands->front()).rank();
    auto const order = permutation_of(op.attributes, rank);
    if (!order || order != permutation_of({}, rank) || tensors_.contains(op.out.front())) return {};
    return operands->front();
}

std::optional<TensorId> Elaborator::read(Tensor& tensor, std::size_t i, std::size_t position) {
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

std::optional<TensorId> Elaborator::made(Tensor& tensor) {
    if (tensor.transposed && !tensor.id)
        tensor.id = apply(tensor.index, OpCode::transpose, {*tensor.transposed}, source_.ops[tensor.index].attributes);
    return tensor.id;
}

std::optional<TensorId> Elaborator::apply_with_constant(std::size_t i, OpCode code, TensorIds const& operands) {
    auto const& in = source_.ops[i].in;
    auto const is_left = constant_of(in[0]).has_value() && !tensors_.contains(in[0]);
    auto const steps =
        in.size() == 2 && operands.size() == 1
            ? with_constant(code, *constant_of(in[is_left ? 0 : 1]), is_left ? ConstantSide::left : ConstantSide::right)
            : std::nullopt;
    if (steps) return run(i, *steps, operands, {});
    problem(Part::op, i,
            "{} of {} cannot be taken: a constant stands beside a tensor in add, sub, mul, div, max and min, or is "
            "the exponent 2, 0.5, -1 or -0.5 of a pow",
            source_.ops[i].op, fmt::join(in, " and "));
    return std::nullopt;
}

std::optional<TensorId> Elaborator::compose(std::size_t i, Composition const& composition,
                                            std::optional<TensorIds> const& operands) {
    auto const& op = source_.ops[i];
    auto const before = out_.problems.size();
    if (static_cast<int>(op.in.size()) != composition.inputs || (operands && operands->size() != op.in.size()))
        problem(Part::op, i, "{} takes {} tensor{}, not numbers, got {}: {}", op.op, composition.inputs,
                composition.inputs == 1 ? "" : "s", op.in.size(),
                op.in.empty() ? "name its operands" : fmt::format("{}", fmt::join(op.in, ", ")));
    auto const& row = info(composition.has_axis ? OpCode::sum : OpCode::exp);
    check_words(i, row);
    for (auto const& attribute : op.attributes.items())
        if (auto const wrong = problem_of(i, row, attribute)) problem(Part::op, i, "{}", *wrong);
    if (out_.problems.size() != before || !operands) return std::nullopt;
    return over_axes(i, op.attributes, operands->front(), [&](TensorId first, Attributes const& attributes) {
        return run(i, composition.steps, {first}, attributes);
    });
}

std::optional<TensorId> Elaborator::run(std::size_t i, std::vector<CompositionStep> const& steps, TensorIds tensors,
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

template <class Each>
std::optional<TensorId> Elaborator::over_axes(std::size_t i, Attributes const& attributes, TensorId first,
                                              Each const& each) {
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

bool Elaborator::takes_dtype(OpInfo const& row) {
    return std::ranges::find(row.attributes, AttributeName::dtype) != row.attributes.end();
}

std::optional<TensorId> Elaborator::cast(std::size_t i, OpCode code, TensorIds const& in) {
    auto const* const words = words_of(i, AttributeName::dtype);
    auto const dtype = words && words->size() == 1 ? find_dtype(words->front()) : std::nullopt;
    if (dtype)
        return apply(i, code, in,
                     source_.ops[i].attributes.with(AttributeName::dtype, static_cast<std::int64_t>(*dtype)));
    std::vector<std::string> names;
    for (auto const& known : dtypes) names.emplace_back(known.name);
    if (words && words->size() == 1)
        problem(Part::op, i, "there is no type '{}': {}", words->front(), did_you_mean(words->front(), names));
    else
        problem(Part::op, i, "{} needs one `dtype`: known are {}", source_.ops[i].op, fmt::join(names, ", "));
    return std::nullopt;
}

std::optional<TensorId> Elaborator::view(std::size_t i, TensorId of, Sized const& as) {
    std::vector<double> const sizes(as.numbers.begin(), as.numbers.end());
    return apply(i, OpCode::reshape, {of}, Attributes{}.with(AttributeName::shape, sizes), &as.words);
}

/// The matrix [1, k] or [k, 1] that a vector is.
std::optional<TensorId> Elaborator::matrix_of(std::size_t i, TensorId vector, VectorSide side) {
    Sized as;
    for (auto const is_unit : {side == VectorSide::left, side == VectorSide::right}) {
        as.numbers.push(is_unit ? 1 : shape(vector)[0]);
        as.words.push(is_unit || !is_symbolic_ ? Word{} : words(vector)[0]);
    }
    return view(i, vector, as);
}

std::optional<std::optional<TensorId>> Elaborator::product_with_vector(std::size_t i, OpCode code,
                                                                       TensorIds const& in) {
    if ((code != OpCode::matmul && code != OpCode::matmul_nt) || in.size() != 2) return std::nullopt;
    auto const &left = shape(in[0]), &right = shape(in[1]);
    auto const is_left = left.rank() == 1, is_right = right.rank() == 1 && code == OpCode::matmul;
    if ((!is_left && !is_right) || left.rank() == 0 || right.rank() == 0) return std::nullopt;
    auto const inner = right.rank() == 1 || code == OpCode::matmul_nt ? right.back() : right[right.rank() - 2];
    if (left.back() != inner || (right.rank() == 1 && !is_right)) return std::nullopt; // which says what is wrong
    auto matrices = in;
    for (auto const side : {VectorSide::left, VectorSide::right}) {
        if (!(side == VectorSide::left ? is_left : is_right)) continue;
        auto& operand = matrices[side == VectorSide::left ? 0 : 1];
        auto const matrix = matrix_of(i, operand, side);
        if (!matrix) return matrix;
        operand = *matrix;
    }
    auto const product = apply(i, code, matrices, {});
    if (!product) return product;
    Sized as; // without the dimensions that the vectors do not have
    auto const rank = shape(*product).rank();
    for (int dim = 0; dim < rank; ++dim) {
        if ((is_left && dim == rank - 2) || (is_right && dim == rank - 1 && !is_left)) continue;
        as.numbers.push(shape(*product)[dim]);
        as.words.push(is_symbolic_ ? words(*product)[dim] : Word{});
    }
    return view(i, *product, as);
}

std::vector<std::string> Elaborator::tensor_names() const {
    std::vector<std::string> names;
    for (auto const& [name, tensor] : tensors_) names.push_back(name);
    return names;
}

std::optional<std::string> Elaborator::problem_of(std::size_t i, OpInfo const& row, Attribute const& attribute) const {
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

void Elaborator::check_words(std::size_t i, OpInfo const& row) {
    for (auto const& [name, words] : source_.ops[i].words)
        if (std::ranges::find(row.attributes, name) == row.attributes.end())
            problem(Part::op, i, "{} has no attribute `{}`: remove it", source_.ops[i].op, program::name(name));
}

bool Elaborator::is_called_well(std::size_t i, OpInfo const& row) {
    auto const before = out_.problems.size();
    auto const& op = source_.ops[i];
    if (!row.at[static_cast<std::size_t>(Level::kernel)])
        problem(Part::op, i,
                "{} stands only in graph-defined kernels, which the search makes: write the program with ops such "
                "as sum",
                op.op);
    auto const is_list = row.field.access == Access::rearrange && row.field.move == Move::concat;
    if (is_list ? op.in.size() < 2 : static_cast<int>(op.in.size()) != row.inputs)
        problem(Part::op, i, "{} takes {} operand{}{}, got {}: {}", op.op, row.inputs, row.inputs == 1 ? "" : "s",
                is_list ? " or more" : "", op.in.size(),
                op.in.empty() ? "name its operands" : fmt::format("{}", fmt::join(op.in, ", ")));
    for (auto const& attribute : op.attributes.items())
        if (auto const wrong = problem_of(i, row, attribute)) problem(Part::op, i, "{}", *wrong);
    check_words(i, row);
    if (row.field.reduction.to_size && !op.attributes.find(AttributeName::size))
        problem(Part::op, i, "{} needs `size`: how many columns are left", op.op);
    return out_.problems.size() == before;
}

void Elaborator::add_output(std::size_t i) {
    auto const& name = source_.outputs[i];
    auto const found = tensors_.find(name);
    if (found == tensors_.end())
        return problem(Part::output, i, "there is no tensor '{}': {}", name, did_you_mean(name, tensor_names()));
    auto& tensor = found->second;
    tensor.is_read = true;
    if (tensor.part == Part::input)
        return problem(Part::output, i, "{} is an input: output a tensor that an op makes", name);
    if (std::exchange(tensor.is_output, true)) return problem(Part::output, i, "{} is output twice: remove one", name);
    if (auto const id = made(tensor)) out_.graph.outputs.push_back(*id);
}

void Elaborator::check_whole() {
    if (source_.ops.empty()) problem(Part::whole, 0, "a program without ops: there is nothing to optimise, add ops");
    if (source_.outputs.empty()) problem(Part::whole, 0, "a program without outputs: name the tensors it computes");
    for (auto const& name : source_.weights) {
        auto const found = tensors_.find(name);
        if (found == tensors_.end() || found->second.part != Part::input)
            problem(Part::whole, 0, "weights: {} is not an input of the program: {}", name,
                    did_you_mean(name, input_names()));
    }
}

std::vector<std::string> Elaborator::input_names() const {
    std::vector<std::string> names;
    for (auto const& input : source_.inputs) names.push_back(input.name);
    return names;
}

void Elaborator::check_unread() {
    for (auto const& [name, tensor] : tensors_)
        if (!tensor.is_read)
            problem(tensor.part, tensor.index, "{} is never used: remove it{}", name,
                    tensor.part == Part::op ? " or output it" : "");
}

std::optional<std::int64_t> literal_size(std::string_view dim) {
    auto const digits = dim.starts_with('-') ? dim.substr(1) : dim;
    if (digits.empty() || !std::ranges::all_of(digits, [](unsigned char c) { return std::isdigit(c) != 0; }))
        return std::nullopt;
    constexpr std::size_t longest = 18; // beyond every size that is supported, and still a 64-bit number
    return std::stoll(std::string(dim.substr(0, longest)));
}

/// As often as a dimension turns out to be another one or a product of others, which leaves fewer.
Elaboration elaborate(Source const& source) {
    constexpr int most_attempts = 64;
    Relations relations;
    for (int attempt = 1;; ++attempt) {
        auto const known = relations.size();
        auto out = Elaborator(source, relations).run();
        if (relations.size() == known || attempt == most_attempts) return out;
    }
}

} // namespace espalier::program
