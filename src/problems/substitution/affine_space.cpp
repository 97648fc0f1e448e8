#include "affine_space.hpp"

#include "affine_world.hpp"

#include "espalier/base/contract.hpp"
#include "espalier/base/key_error.hpp"
#include "espalier/problems/substitution/library.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <numeric>

namespace espalier::problems::substitution::affine {
namespace {

constexpr std::array<OpRow, op_count> op_rows{{{"add", true, 1},
                                               {"mul", true, 1},
                                               {"div", false, 1},
                                               {"clip", false, 2},
                                               {"hard_sigmoid", false, 2},
                                               {"hard_swish", false, 0},
                                               {"relu", false, 0},
                                               {"conv", false, 1},
                                               {"conv", false, 2}}};
constexpr std::array<std::string_view, 8> term_names{
    "", "", "add", "mul", "div", "scale_outputs", "scale_inputs", "merge_groups"};
constexpr std::string_view merging = "merge_groups";
constexpr std::size_t most_terms = 4'000;
constexpr int most_term_ops = 2; ///< of a constant operand

Sizes const naming_sizes{};
constexpr std::uint64_t naming_seed = 20'191; ///< fixed: terms are the same everywhere

/// What a constant operator makes of such constants, if it is tried at all.
std::optional<Type> type_of(TermOp op, Term const& a, Term const& b) {
    auto const is_number = [](Term const& term) { return term.op == TermOp::number; };
    if (op == TermOp::scale_outputs || op == TermOp::scale_inputs) {
        auto const by = op == TermOp::scale_outputs ? Type::out_channel : Type::channel;
        return a.type == Type::weights && b.type == by ? std::optional(Type::weights) : std::nullopt;
    }
    if (b.type == Type::weights || is_number(b)) return std::nullopt;
    if (a.type == Type::weights)
        return op == TermOp::mul && b.type == Type::scalar ? std::optional(Type::weights) : std::nullopt;
    // numbers are what parameters stand for, too: only 1 / c is worth a name
    if (is_number(a)) return op == TermOp::div && a.numerator == a.denominator ? std::optional(b.type) : std::nullopt;
    if (a.type == b.type || b.type == Type::scalar) return a.type;
    return a.type == Type::scalar ? std::optional(b.type) : std::nullopt;
}

Term number_term(std::string const& text) {
    auto const slash = text.find('/');
    Term out{.op = TermOp::number, .name = text};
    auto const read = [](std::string_view part, std::int64_t& to) {
        std::from_chars(part.data(), part.data() + part.size(), to);
    };
    if (!library::number_of(text))
        throw base::KeyError("problem.constants", fmt::format("{:?} is not a number: use 6 or 1/6", text));
    read(std::string_view(text).substr(0, slash), out.numerator);
    if (slash != std::string::npos) read(std::string_view(text).substr(slash + 1), out.denominator);
    return out;
}

std::vector<Op> read_operators(std::vector<std::string> const& names, bool& merges) {
    std::vector<Op> out;
    merges = false;
    for (auto const& name : names) {
        auto is_known = name == merging;
        merges = merges || is_known;
        for (std::size_t i = 0; i < op_count; ++i)
            if (op_rows[i].name == name) {
                is_known = true;
                out.push_back(static_cast<Op>(i));
            }
        if (!is_known)
            throw base::KeyError(
                "problem.operators",
                fmt::format("{} is not an operator of this space: use add, mul, div, clip, hard_sigmoid, "
                            "hard_swish, relu, conv, merge_groups",
                            name));
    }
    std::ranges::sort(out);
    return out;
}

} // namespace

OpRow const& row(Op op) { return op_rows[static_cast<std::size_t>(op)]; }
std::string_view name(TermOp op) { return term_names[static_cast<std::size_t>(op)]; }

Space::Space(AffineConfig const& config, int max_ops) : data_inputs_(config.inputs.data) {
    bool merges = false;
    operators_ = read_operators(config.operators, merges);
    add_inputs(config);
    add_numbers(config.constants);
    add_terms(merges, max_ops);
    add_namings();
}

std::string Space::data_name(int input) const {
    constexpr std::string_view names = "xyz";
    return std::string(1, names[static_cast<std::size_t>(input)]);
}

/// Keeps a term unless an earlier one has the same values.
void Space::put(Term term) {
    auto const id = static_cast<TermId>(terms_.size());
    std::optional<Tensor> values;
    if (term.op == TermOp::input) {
        base::Rng rng{base::Seed{naming_seed + id}};
        values = drawn(term.type, naming_sizes, SignClass::any, rng);
        inputs_.push_back(id);
    } else if (term.op == TermOp::number) {
        values = Tensor{Type::scalar, 1, {whole(term.numerator) * *inverse(whole(term.denominator))}};
    } else {
        values = fold(term.op, values_[term.a], term.b == no_term ? nullptr : &values_[term.b], naming_sizes);
        if (!values) return;
    }
    auto const [at, is_new] = by_print_.try_emplace(print_of(*values), id);
    if (term.op > TermOp::number) made_[{term.op, term.a, term.b}] = at->second;
    if (!is_new) return;
    by_type_[static_cast<std::size_t>(term.type)].push_back(id);
    std::uint32_t reads = term.op == TermOp::input ? 1u << id : 0;
    for (auto const part : {term.a, term.b})
        if (part != no_term) reads |= reads_[part];
    reads_.push_back(reads);
    terms_.push_back(std::move(term));
    values_.push_back(std::move(*values));
}

void Space::add_inputs(AffineConfig const& config) {
    auto const add = [&](Type type, int count, std::string_view names) {
        for (int i = 0; i < count; ++i)
            put({.op = TermOp::input, .type = type, .name = std::string(1, names[static_cast<std::size_t>(i)])});
    };
    add(Type::scalar, config.inputs.scalar, "cdef");
    add(Type::channel, config.inputs.channel, "vw");
    add(Type::out_channel, config.inputs.bias, "bp");
    add(Type::weights, config.inputs.weights, "W");
}

void Space::add_numbers(std::vector<std::string> const& constants) {
    for (auto const& text : constants) put(number_term(text));
}

/// Terms of one operator, then of two: at most one less than a graph may have.
void Space::add_terms(bool merges_groups, int max_ops) {
    auto const is_used = [&](TermOp op) { // what is not done with data is not done with constants
        return op > TermOp::div || std::ranges::any_of(operators_, [&](Op one) { return row(one).name == name(op); });
    };
    for (int ops = 1; ops <= std::min(most_term_ops, max_ops - 1); ++ops) {
        auto const count = static_cast<TermId>(terms_.size());
        auto const combine = [&](TermOp op, TermId a, TermId b) {
            if (!is_used(op)) return;
            auto const is_commutative = op == TermOp::add || op == TermOp::mul;
            auto const &of_a = terms_[a], &of_b = terms_[b];
            if (of_a.ops + of_b.ops + 1 != ops || (op == TermOp::div && a == b)) return;
            if (is_commutative && of_a.type == of_b.type && a > b) return;
            if (is_commutative && of_a.type == Type::scalar && of_b.type != Type::scalar) return; // the scalar second
            if (auto const type = type_of(op, of_a, of_b)) put({.op = op, .type = *type, .a = a, .b = b, .ops = ops});
        };
        for (TermId a = 0; a < count; ++a) {
            if (merges_groups && terms_[a].type == Type::weights && terms_[a].op == TermOp::input && ops == 1)
                put({.op = TermOp::merge_groups, .type = Type::weights, .a = a, .ops = ops});
            for (TermId b = 0; b < count; ++b)
                for (auto const op :
                     {TermOp::add, TermOp::mul, TermOp::div, TermOp::scale_outputs, TermOp::scale_inputs})
                    combine(op, a, b);
        }
        if (terms_.size() > most_terms)
            throw base::KeyError("problem.max_ops",
                                 fmt::format("{} operators make more than {} constants of these inputs: "
                                             "use fewer of either",
                                             max_ops, most_terms));
    }
}

std::vector<TermId> Space::inputs_of(TermId id) const {
    std::vector<TermId> out;
    for (auto const input : inputs_)
        if ((reads_[id] >> input & 1u) != 0) out.push_back(input);
    return out;
}

bool Space::are_first(std::uint32_t inputs) const {
    for (std::size_t i = 1; i < inputs_.size(); ++i)
        if ((inputs >> i & 1u) != 0 && (inputs >> (i - 1) & 1u) == 0 && terms_[i].type == terms_[i - 1].type)
            return false;
    return true;
}

TermId Space::renamed(TermId id, std::vector<TermId> const& inputs) const {
    auto const& term = terms_[id];
    if (term.op == TermOp::input) return inputs[id];
    if (term.op == TermOp::number) return id;
    auto a = renamed(term.a, inputs), b = term.b == no_term ? no_term : renamed(term.b, inputs);
    auto at = made_.find({term.op, a, b});
    if (at == made_.end()) at = made_.find({term.op, b, a});
    ESP_ASSERT(at != made_.end());
    return at->second;
}

void Space::add_namings() {
    std::vector<std::uint8_t> data(static_cast<std::size_t>(data_inputs_));
    std::vector<std::vector<TermId>> all(1, std::vector<TermId>(inputs_.size()));
    std::iota(all[0].begin(), all[0].end(), TermId{0});
    for (auto const type : {Type::scalar, Type::channel, Type::out_channel, Type::weights}) {
        std::vector<TermId> of_type;
        for (auto const id : inputs_)
            if (terms_[id].type == type) of_type.push_back(id);
        if (of_type.empty()) continue;
        std::vector<std::vector<TermId>> next;
        for (auto const& names : all) {
            auto order = of_type;
            do {
                auto one = names;
                for (std::size_t i = 0; i < order.size(); ++i) one[of_type[i]] = order[i];
                next.push_back(std::move(one));
            } while (std::ranges::next_permutation(order).found);
        }
        all = std::move(next);
    }
    std::iota(data.begin(), data.end(), std::uint8_t{0});
    do
        for (auto const& inputs : all) {
            Naming naming{data, {}};
            for (std::size_t id = 0; id < terms_.size(); ++id)
                naming.terms.push_back(renamed(static_cast<TermId>(id), inputs));
            namings_.push_back(std::move(naming));
        }
    while (std::ranges::next_permutation(data).found);
}

} // namespace espalier::problems::substitution::affine
