#include "affine.hpp"

#include "espalier/base/error.hpp"
#include "espalier/base/rng.hpp"

#include <algorithm>

/// Stored rules: read, and tried again on numbers that have nothing to do with those of the search.
namespace espalier::problems::substitution::affine {
namespace {

/// All channels have the same number, so that it does not matter which a parameter belongs to.
Sizes drawn_sizes(base::Rng& rng) {
    auto const below = [&](std::uint64_t n) { return static_cast<int>(rng.below(n)); };
    auto const merged = 2 + below(2), groups = merged * (1 + below(2));
    auto const channels = groups * (1 + below(3));
    return {channels, channels, groups, merged, 1 + 2 * below(2), 4 + below(4)};
}

Type type_of(library::InputClass kind) {
    switch (kind) {
    case library::InputClass::scalar:
        return Type::scalar;
    case library::InputClass::channel:
        return Type::channel;
    case library::InputClass::weights:
        return Type::weights;
    case library::InputClass::data:
        break;
    }
    return Type::data;
}

/// The tensors of one side by name.
class Side {
public:
    Side(library::Rule const& rule, Sizes const& sizes, std::uint64_t seed) : sizes_(sizes) {
        base::Rng rng{base::Seed{seed}};
        for (auto const& input : rule.inputs) {
            auto sign = SignClass::any;
            for (auto const& [of, is] : rule.parameters)
                if (of == input.name) sign = is == library::Sign::positive ? SignClass::positive : SignClass::negative;
            tensors_[input.name] = drawn(type_of(input.kind), sizes, sign, rng);
        }
    }

    /// Nothing where an operator has no meaning.
    [[nodiscard]] std::optional<std::vector<std::uint64_t>> outputs(library::Graph const& graph) {
        for (auto const& op : graph.operators) {
            auto made = this->made(op);
            if (!made) return std::nullopt;
            made->type = made->type == Type::result ? Type::data : made->type;
            tensors_[op.outputs.front()] = std::move(*made);
        }
        std::vector<std::uint64_t> out;
        for (auto const& name : graph.outputs) out.push_back(print_of(tensors_.at(name)));
        return out;
    }

private:
    [[nodiscard]] Tensor const& operand(std::string const& name) {
        if (auto const at = tensors_.find(name); at != tensors_.end()) return at->second;
        auto const slash = name.find('/');
        auto const value = whole(std::stoll(name));
        auto const below = slash == std::string::npos ? whole(1) : whole(std::stoll(name.substr(slash + 1)));
        return tensors_[name] = Tensor{Type::scalar, 1, {value * inverse(below).value()}};
    }
    [[nodiscard]] std::optional<Tensor> made(library::Operator const& op) {
        std::vector<Tensor const*> read;
        for (auto const& name : op.inputs) read.push_back(&operand(name));
        read.resize(3, nullptr);
        if (read[0]->type != Type::data) return folded(op, read);
        for (int i = 0; i < op_count; ++i) {
            auto const code = static_cast<Op>(i);
            auto const reads_two = row(code).may_read_two && read[1] && read[1]->type == Type::data;
            auto const operands = std::size_t{1} + (reads_two ? 1u : static_cast<unsigned>(row(code).constants));
            if (row(code).name != op.op || operands != op.inputs.size()) continue;
            if (reads_two) return apply(code, {read[0], read[1]}, sizes_);
            return apply(code, {read[0], nullptr, read[1], read[2]}, sizes_);
        }
        throw base::InputError("{} is not an operator of space: affine", op.op);
    }
    [[nodiscard]] std::optional<Tensor> folded(library::Operator const& op,
                                               std::vector<Tensor const*> const& read) const {
        for (auto const code :
             {TermOp::add, TermOp::mul, TermOp::div, TermOp::scale_outputs, TermOp::scale_inputs, TermOp::merge_groups})
            if (name(code) == op.op) return fold(code, *read[0], read[1], sizes_);
        throw base::InputError("{} is not an operator on constants of space: affine", op.op);
    }

    Sizes sizes_;
    std::map<std::string, Tensor> tensors_;
};

} // namespace

library::Rule stored_rule(search::ResultRecord const& record) {
    base::ByteReader reader(record.payload);
    return library::parse_rule(reader.get_text());
}

bool holds_again(library::Rule const& rule, std::uint64_t seed) {
    constexpr int tries = 40, enough = 4;
    base::Rng rng{base::Seed{seed}};
    int defined = 0;
    for (int i = 0; i < tries && defined < enough; ++i) {
        auto const sizes = drawn_sizes(rng);
        auto const values = rng();
        auto const left = Side(rule, sizes, values).outputs(rule.left);
        if (left != Side(rule, sizes, values).outputs(rule.right)) return false;
        defined += left.has_value();
    }
    return defined > 0;
}

} // namespace espalier::problems::substitution::affine
