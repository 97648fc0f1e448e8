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
        if (info(*code).field.access == Access::rearrange && info(*code).field.move != Move::permute)
            return moved(i, *code, *operands);
        if (takes_dtype(info(*code))) return cast(i, *code, *operands);
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
        check_words(i, row);
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
    static bool takes_dtype(OpInfo const& row) {
        return std::ranges::find(row.attributes, AttributeName::dtype) != row.attributes.end();
    }
    std::optional<TensorId> cast(std::size_t i, OpCode code, TensorIds const& in) {
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
    /// Ops whose attributes are sizes in words.
    std::optional<TensorId> moved(std::size_t i, OpCode code, TensorIds const& in) {
        switch (info(code).field.move) {
        case Move::reshape:
            return reshape(i, in);
        case Move::slice:
            return slice(i, in);
        case Move::concat:
            return concat(i, in);
        case Move::permute:
            break;
        }
        return std::nullopt;
    }
    /// The axis from the front; where there is none, the op's own rule says so.
    [[nodiscard]] int axis_or_last(std::size_t i, TensorId of) const {
        return axis_of(source_.ops[i].attributes, shape(of)).value_or(shape(of).rank() - 1);
    }
    /// What is kept has the name of what the borders differ by, if that is one, or is a size of its own.
    std::optional<TensorId> slice(std::size_t i, TensorIds const& in) {
        auto const axis = axis_or_last(i, in.front());
        auto const size = shape(in.front())[axis];
        auto const from = border(i, AttributeName::from, {0, {}}, size);
        auto const to = border(i, AttributeName::to,
                               {size, {{words(in.front()).rank() > axis ? words(in.front())[axis] : Word{}, 1}}}, size);
        if (!from || !to) return std::nullopt;
        if (from->value < 0 || to->value > size || from->value >= to->value) {
            problem(Part::op, i,
                    "slice takes {} to {} of {} elements along `axis` {}: give `from` before `to`, both within it",
                    from->value, to->value, size, axis);
            return std::nullopt;
        }
        auto attributes = source_.ops[i].attributes;
        attributes = attributes.with(AttributeName::from, from->value).with(AttributeName::to, to->value);
        SymbolicShape sizes;
        if (is_symbolic_) {
            sizes.push(words(in.front())[axis]);
            sizes.push(word_between(*from, *to));
        }
        return apply(i, OpCode::slice, in, attributes, &sizes);
    }
    /// A sum of sizes; its terms are known only if it has no number among them.
    struct Border {
        std::int64_t value = 0;
        std::vector<std::pair<Word, int>> terms;
    };
    /// A negative one counts from the end.
    std::optional<Border> border(std::size_t i, AttributeName name, Border const& otherwise, std::int64_t size) {
        auto const* const given = words_of(i, name);
        if (!given) return otherwise;
        if (given->size() != 1) {
            problem(Part::op, i, "`{}` has {} values: give one", program::name(name), given->size());
            return std::nullopt;
        }
        Border out;
        for (auto const& [sign, product] : terms_of(given->front())) {
            auto const one = product == "0" ? std::optional<std::int64_t>(0) : size_of(Part::op, i, product);
            if (!one) return std::nullopt;
            out.value += sign * *one;
            if (*one != 0) out.terms.emplace_back(literal_size(product) ? literal_word(*one) : word_of(product), sign);
        }
        if (out.value < 0 && out.value >= -size) {
            out.value += size;
            out.terms.clear();
        }
        return out;
    }
    /// A number in a border is not a size of anything.
    [[nodiscard]] Word literal_word(std::int64_t size) const {
        auto const& names = table_.symbols().names;
        auto const name = std::to_string(size);
        return relations_.find(name) || std::ranges::count(names, name) > 0 ? word_of(name) : Word{};
    }
    Word word_between(Border const& from, Border const& to) {
        auto terms = to.terms;
        for (auto const& [word, times] : from.terms) {
            auto const same = std::ranges::find(terms, word, &std::pair<Word, int>::first);
            if (same == terms.end())
                terms.emplace_back(word, -times);
            else
                same->second -= times;
        }
        std::erase_if(terms, [](auto const& term) { return term.second == 0; });
        auto const size = to.value - from.value;
        if (terms.size() == 1 && terms[0].second == 1 && word_value(terms[0].first) == size) return terms[0].first;
        return size_word(size);
    }
    [[nodiscard]] std::int64_t word_value(Word const& word) const {
        std::array<std::int64_t, Word::max_symbols> sizes;
        sizes.fill(1);
        auto const& known = table_.symbols().sizes;
        std::copy_n(known.begin(), std::min(known.size(), sizes.size()), sizes.begin());
        return word.value(sizes);
    }
    /// As many at a time as an op takes.
    std::optional<TensorId> concat(std::size_t i, TensorIds in) {
        constexpr std::array codes{OpCode::concat, OpCode::concat3, OpCode::concat4};
        std::optional<TensorId> out = in.front();
        for (auto left = std::span(in).subspan(1); !left.empty() && out;) {
            auto const count = std::min(left.size(), codes.size());
            TensorIds some{*out};
            some.insert(some.end(), left.begin(), left.begin() + static_cast<std::ptrdiff_t>(count));
            left = left.subspan(count);
            auto const axis = axis_or_last(i, *out);
            SymbolicShape sizes;
            std::int64_t total = 0;
            for (auto const id : some) {
                if (shape(id).rank() <= axis) break;
                total += shape(id)[axis];
                if (is_symbolic_) sizes.push(words(id)[axis]);
            }
            if (is_symbolic_) sizes.push(size_word(total));
            out = apply(i, codes[count - 1], some, source_.ops[i].attributes, &sizes);
        }
        return out;
    }
    [[nodiscard]] std::vector<std::string> const* words_of(std::size_t i, AttributeName name) const {
        auto const& all = source_.ops[i].words;
        auto const at = std::ranges::find(all, name, &AttributeWords::name);
        return at == all.end() ? nullptr : &at->words;
    }
    std::optional<TensorId> reshape(std::size_t i, TensorIds const& in) {
        auto const wanted = wanted_shape(i, in.front());
        if (!wanted) return std::nullopt;
        Attributes attributes;
        attributes =
            attributes.with(AttributeName::shape, std::vector<double>(wanted->numbers.begin(), wanted->numbers.end()));
        if (element_count(wanted->numbers) != element_count(shape(in.front()))) {
            problem(Part::op, i,
                    "`shape` {} has {} elements, but {}: give sizes with that product, or one of them as -1",
                    to_text(wanted->numbers), element_count(wanted->numbers), elements_text(i, in));
            return std::nullopt;
        }
        if (is_symbolic_)
            if (auto relation = relation_between({words(in.front()), shape(in.front())}, *wanted, table_)) {
                relations_.products.push_back(std::move(*relation));
                return std::nullopt;
            }
        return apply(i, OpCode::reshape, in, attributes, &wanted->words);
    }
    [[nodiscard]] std::string elements_text(std::size_t i, TensorIds const& in) const {
        return fmt::format("{} has {}", shapes_text(i, in), element_count(shape(in.front())));
    }
    /// With a size that follows from the others.
    std::optional<Sized> wanted_shape(std::size_t i, TensorId of) {
        auto const* const dims = words_of(i, AttributeName::shape);
        if (!dims || dims->empty()) {
            problem(Part::op, i, "reshape needs `shape`: the sizes that the tensor gets, by name or number");
            return std::nullopt;
        }
        if (dims->size() > static_cast<std::size_t>(max_rank)) {
            problem(Part::op, i, "`shape` has {} dimensions, but a tensor has at most {}: merge some", dims->size(),
                    max_rank);
            return std::nullopt;
        }
        Sized out;
        std::optional<int> open;
        double known = 1;
        for (auto const& dim : *dims) {
            if (literal_size(dim) == -1) {
                if (open) {
                    problem(Part::op, i, "`shape` has -1 twice: give all sizes but one");
                    return std::nullopt;
                }
                open = out.numbers.rank();
                out.numbers.push(1);
                out.words.push({});
                continue;
            }
            auto const size = size_of(Part::op, i, dim);
            if (!size) return std::nullopt;
            out.numbers.push(*size);
            out.words.push(word_of(dim));
            known *= static_cast<double>(*size);
        }
        if (known > max_elements) {
            problem(Part::op, i, "`shape` has too many elements to count: take smaller sizes");
            return std::nullopt;
        }
        if (open && !fill_in(i, *open, of, out)) return std::nullopt;
        return out;
    }
    bool fill_in(std::size_t i, int open, TensorId of, Sized& out) {
        auto const all = element_count(shape(of)), known = element_count(out.numbers);
        if (all % known != 0) {
            problem(Part::op, i, "`shape` leaves no whole number for -1: {} elements are no multiple of {}", all,
                    known);
            return false;
        }
        out.numbers[open] = all / known;
        if (!is_symbolic_ || all == known) return true;
        Word rest;
        for (auto const& word : words(of)) rest = rest * word;
        for (auto const& word : out.words) rest = rest / word;
        auto const is_product = [&] {
            for (int s = 0; s < Word::max_symbols; ++s)
                if (rest.exponent(s) < 0) return false;
            return true;
        };
        if (is_product())
            out.words[open] = rest;
        else
            out.words[open] = size_word(all / known);
        return true;
    }
    /// Of a size that nobody named.
    Word size_word(std::int64_t size) {
        auto const name = std::to_string(size);
        auto const& names = table_.symbols().names;
        auto const is_known = relations_.find(name) || std::ranges::count(names, name) > 0;
        if (!is_known && size > 1) relations_.sizes.push_back(size);
        return word_of(name);
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
    void check_words(std::size_t i, OpInfo const& row) {
        for (auto const& [name, words] : source_.ops[i].words)
            if (std::ranges::find(row.attributes, name) == row.attributes.end())
                problem(Part::op, i, "{} has no attribute `{}`: remove it", source_.ops[i].op, program::name(name));
    }
    bool is_called_well(std::size_t i, OpInfo const& row) {
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
    /// `words`: see RuleInput::sizes.
    std::optional<TensorId> apply(std::size_t i, OpCode code, TensorIds const& in, Attributes const& attributes,
                                  SymbolicShape const* words = nullptr) {
        auto const sizes = numbers(code, in, attributes);
        if (!sizes) {
            problem(Part::op, i, "{} needs {}, got {}", source_.ops[i].op, info(code).needs, shapes_text(i, in));
            return std::nullopt;
        }
        auto const names = symbols(code, in, attributes, words);
        if (!names && finds_name(code, in, attributes, words)) return std::nullopt;
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
    /// Whether the op fits once a size that nobody named is another one: what is left of a concatenation, or of a slice
    /// with borders in numbers.
    bool finds_name(OpCode code, TensorIds const& in, Attributes const& attributes, SymbolicShape const* sizes) {
        for (auto const unnamed : relations_.sizes) {
            auto const name = std::to_string(unnamed);
            if (relations_.find(name)) continue;
            auto const from = table_.word_of(name);
            for (auto const id : in)
                for (int d = 0; d < shape(id).rank(); ++d) {
                    auto const& to = words(id)[d];
                    if (shape(id)[d] != unnamed || to == from || !fits_with(code, in, attributes, sizes, {from, to}))
                        continue;
                    relations_.products.push_back({name, table_.factors_of(to)});
                    return true;
                }
        }
        return false;
    }
    struct Renaming {
        Word from, to;
        [[nodiscard]] SymbolicShape operator()(SymbolicShape shape) const {
            for (int i = 0; i < shape.rank(); ++i)
                for (int s = 0; s < Word::max_symbols; ++s)
                    if (from.exponent(s) > 0)
                        for (auto n = shape[i].exponent(s); n > 0; --n) shape[i] = shape[i] / from * to;
            return shape;
        }
    };
    [[nodiscard]] bool fits_with(OpCode code, TensorIds const& in, Attributes const& a, SymbolicShape const* sizes,
                                 Renaming const& renamed) const {
        std::vector<SymbolicShape> shapes;
        for (auto const id : in) shapes.push_back(renamed(words(id)));
        auto const others = sizes ? renamed(*sizes) : SymbolicShape{};
        auto const size = renamed({word_of(std::to_string(a.whole(AttributeName::size, 1)))})[0];
        return info(code).symbolic_shape({shapes, a, size, {}, 0, &others}).has_value();
    }
    [[nodiscard]] std::optional<Shape> numbers(OpCode code, TensorIds const& in, Attributes const& a) const {
        std::vector<Shape> shapes;
        for (auto const id : in) shapes.push_back(shape(id));
        return info(code).shape({shapes, a, a.whole(AttributeName::size, 0), 1});
    }
    /// A graph with too many symbols is refused anyway: its shapes say nothing.
    [[nodiscard]] std::optional<SymbolicShape> symbols(OpCode code, TensorIds const& in, Attributes const& a,
                                                       SymbolicShape const* sizes) const {
        if (!is_symbolic_) return SymbolicShape{};
        std::vector<SymbolicShape> shapes;
        for (auto const id : in) shapes.push_back(words(id));
        auto const size = a.whole(AttributeName::size, 1);
        return info(code).symbolic_shape({shapes, a, word_of(std::to_string(size)), {}, 0, sizes});
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
        for (auto const& word : words(id)) names.push_back(table_.text(word));
        auto const named = fmt::format("[{}]", fmt::join(names, ", "));
        return !is_symbolic_ || named == sizes ? sizes : fmt::format("{} = {}", named, sizes);
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
