#include "elaborate.hpp"

#include "limits.hpp"
#include "suggest.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <utility>

namespace espalier::program {
namespace {

using Part = SourceProblem::Part;

constexpr std::string_view softmax = "softmax";

/// Other names that people write.
struct Alias {
    std::string_view name;
    OpCode code;
};
constexpr std::array aliases{Alias{"rmsnorm", OpCode::rms_norm}, Alias{"layernorm", OpCode::layer_norm}};

std::optional<OpCode> code_of(std::string_view name) {
    auto const alias = std::ranges::find(aliases, name, &Alias::name);
    return alias != aliases.end() ? std::optional(alias->code) : find_op(name);
}

std::vector<std::string> known_ops() {
    auto names = op_names(Level::kernel);
    for (auto const& alias : aliases) names.emplace_back(alias.name);
    names.emplace_back(softmax);
    return names;
}

bool is_name(std::string_view text) {
    auto const is_letter = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
    return !text.empty() && std::isdigit(static_cast<unsigned char>(text[0])) == 0 &&
           std::ranges::all_of(text, is_letter);
}

/// Goes through a source once. What is wrong makes a tensor unknown, and unknown tensors give no further messages.
class Elaborator {
public:
    explicit Elaborator(Source const& source) : source_(source), symbols_(symbols_of(source)) {}

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
    /// A tensor that has a name; without an id it is known to exist, and no more.
    struct Tensor {
        std::optional<TensorId> id;
        Part part;
        std::size_t index;
        bool is_read = false;
        bool is_output = false;
    };

    template <class... Args>
    void problem(Part part, std::size_t index, fmt::format_string<Args...> format, Args&&... args) {
        out_.problems.push_back({part, index, fmt::format(format, std::forward<Args>(args)...)});
    }

    // --- dimensions

    void add_dim(std::size_t i) {
        auto const& [name, size] = source_.dims[i];
        if (!is_name(name)) problem(Part::dim, i, "'{}' is not a name: letters, digits and _, a letter first", name);
        if (dims_.contains(name)) return problem(Part::dim, i, "{} is declared twice: remove one", name);
        auto& known = dims_[name];
        if (size >= 1 && size <= max_dim)
            known = size;
        else
            problem(Part::dim, i, "{} has size {}: give a whole number from 1 to {}", name, size, max_dim);
    }
    void check_symbols() {
        if (symbols_.names.size() <= max_source_symbols) return;
        problem(Part::whole, 0,
                "{} different dimensions ({}), but at most {} of size over 1 are supported: use one name for those "
                "that are the same, or set some to 1",
                symbols_.names.size(), fmt::join(symbols_.names, ", "), max_source_symbols);
        is_symbolic_ = false;
    }
    [[nodiscard]] Word word_of(std::string const& dim, std::int64_t size) const {
        auto const name = literal_size(dim) ? std::to_string(size) : dim;
        auto const at = std::ranges::find(symbols_.names, name);
        if (size == 1 || at == symbols_.names.end() || !is_symbolic_) return {};
        return Word::symbol(static_cast<int>(at - symbols_.names.begin()));
    }
    std::optional<std::int64_t> size_of(std::size_t input, std::string const& dim) {
        if (auto const literal = literal_size(dim)) {
            if (*literal >= 1 && *literal <= max_dim) return literal;
            problem(Part::input, input, "a dimension of size {}: give a whole number from 1 to {}", dim, max_dim);
            return std::nullopt;
        }
        if (auto const found = dims_.find(dim); found != dims_.end()) return found->second;
        problem(Part::input, input, "there is no dimension '{}': {}", dim, did_you_mean(dim, dim_names()));
        return std::nullopt;
    }
    [[nodiscard]] std::vector<std::string> dim_names() const {
        std::vector<std::string> names;
        for (auto const& dim : source_.dims) names.push_back(dim.name);
        return names;
    }

    // --- tensors

    TensorId push(Shape const& shape, SymbolicShape const& words) {
        shapes_.push_back(shape);
        return out_.shapes.push_back(words);
    }
    [[nodiscard]] Shape const& shape(TensorId id) const { return shapes_[id]; }
    [[nodiscard]] SymbolicShape const& words(TensorId id) const { return out_.shapes[id]; }

    void define(std::string const& name, Part part, std::size_t i, std::optional<TensorId> id) {
        if (!is_name(name)) problem(part, i, "'{}' is not a name: letters, digits and _, a letter first", name);
        if (!tensors_.emplace(name, Tensor{id, part, i}).second)
            problem(part, i, "tensor {} is defined twice: give one of them another name", name);
    }
    void add_input(std::size_t i) {
        auto const& input = source_.inputs[i];
        define(input.name, Part::input, i, shape_of_input(i));
    }
    std::optional<TensorId> shape_of_input(std::size_t i) {
        auto const& dims = source_.inputs[i].dims;
        if (dims.empty() || dims.size() > static_cast<std::size_t>(max_rank)) {
            problem(Part::input, i, "{} dimensions, but a tensor has 1 to {}", dims.size(), max_rank);
            return std::nullopt;
        }
        Shape sizes;
        SymbolicShape names;
        for (auto const& dim : dims)
            if (auto const size = size_of(i, dim)) {
                sizes.push(*size);
                names.push(word_of(dim, *size));
            }
        if (sizes.rank() != static_cast<int>(dims.size()) || !is_of_bearable_size(Part::input, i, sizes))
            return std::nullopt;
        out_.graph.inputs.push_back({source_.inputs[i].name, sizes});
        return push(sizes, names);
    }
    bool is_of_bearable_size(Part part, std::size_t i, Shape const& sizes) {
        if (estimate_elements(sizes) <= max_elements) return true;
        problem(part, i, "a tensor {} has too many elements to count: take smaller sizes", to_text(sizes));
        return false;
    }

    // --- ops

    void add_op(std::size_t i) {
        auto const& op = source_.ops[i];
        auto const operands = read(i);
        auto const code = op.op == softmax ? OpCode::sum : code_of(op.op); // a softmax is along an axis, as a sum is
        std::optional<TensorId> result;
        if (!code)
            problem(Part::op, i, "there is no op '{}': {}", op.op, did_you_mean(op.op, known_ops()));
        else if (is_called_well(i, info(*code)) && operands)
            result = op.op == softmax ? add_softmax(i, operands->front()) : apply(i, *code, *operands, op.attributes);
        if (op.out.size() != 1)
            problem(Part::op, i, "{} outputs, but {} has one: name one tensor", op.out.size(), op.op);
        for (auto const& name : op.out) define(name, Part::op, i, result);
    }
    /// The operands' ids, or nothing if one is unknown.
    std::optional<TensorIds> read(std::size_t i) {
        TensorIds ids;
        for (auto const& name : source_.ops[i].in) {
            auto const found = tensors_.find(name);
            if (found == tensors_.end()) {
                problem(Part::op, i, "there is no tensor '{}' before this op: {}", name,
                        did_you_mean(name, tensor_names()));
                continue;
            }
            found->second.is_read = true;
            if (found->second.id) ids.push_back(*found->second.id);
        }
        if (ids.size() != source_.ops[i].in.size()) return std::nullopt;
        return ids;
    }
    [[nodiscard]] std::vector<std::string> tensor_names() const {
        std::vector<std::string> names;
        for (auto const& [name, tensor] : tensors_) names.push_back(name);
        return names;
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
            if (auto const wrong = problem_of(row, attribute)) problem(Part::op, i, "{}", *wrong);
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
    std::optional<TensorId> add_softmax(std::size_t i, TensorId x) {
        auto const e = apply(i, OpCode::exp, {x}, {});
        auto const sum = e ? apply(i, OpCode::sum, {*e}, source_.ops[i].attributes) : std::nullopt;
        return sum ? apply(i, OpCode::div, {*e, *sum}, {}) : std::nullopt;
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
            auto const name = j < names.size() ? names[j] : "its sum"; // of a softmax
            out += fmt::format("{}{} {}", out.empty() ? "" : " and ", name, shape_text(in[j]));
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
        if (tensor.id) out_.graph.outputs.push_back(*tensor.id);
    }
    void check_whole() {
        if (source_.ops.empty())
            problem(Part::whole, 0, "a program without ops: there is nothing to optimise, add ops");
        if (source_.outputs.empty()) problem(Part::whole, 0, "a program without outputs: name the tensors it computes");
    }
    void check_unread() {
        for (auto const& [name, tensor] : tensors_)
            if (!tensor.is_read)
                problem(tensor.part, tensor.index, "{} is never used: remove it{}", name,
                        tensor.part == Part::op ? " or output it" : "");
    }

    Source const& source_;
    Symbols symbols_;
    bool is_symbolic_ = true;                                 ///< else there are too many symbols
    std::map<std::string, std::optional<std::int64_t>> dims_; ///< nothing: declared with a size that cannot be
    std::map<std::string, Tensor> tensors_;
    base::IndexedVector<TensorId, Shape> shapes_;
    Elaboration out_;
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
