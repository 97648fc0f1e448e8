#pragma once

#include "affine_values.hpp"

#include "espalier/problems/substitution/affine_config.hpp"

#include <array>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace espalier::problems::substitution::affine {

/// A constant operand: a number of the list of all terms, which the experiment alone decides.
using TermId = std::uint16_t;
inline constexpr TermId no_term = 0xFFFF;

/// A parameter, a number, or what operators make of these when a rule is applied.
struct Term {
    TermOp op = TermOp::input;
    Type type = Type::scalar;
    TermId a = no_term, b = no_term;
    int ops = 0;
    std::string name;                            ///< of an input or number
    std::int64_t numerator = 0, denominator = 1; ///< of a number
};

/// One way to exchange inputs of a class for each other.
struct Naming {
    std::vector<std::uint8_t> data;
    std::vector<TermId> terms; ///< by term
};

struct OpRow {
    std::string_view name;
    bool may_read_two = false; ///< two tensors of data
    int constants = 0;
};
[[nodiscard]] OpRow const& row(Op op);
[[nodiscard]] std::string_view name(TermOp op);

/// All inputs, constants and what may be made of constants. Immutable.
class Space {
public:
    /// Throws KeyError where the experiment asks for something that is not there.
    Space(AffineConfig const& config, int max_ops);

    [[nodiscard]] std::vector<Term> const& terms() const { return terms_; }
    [[nodiscard]] Term const& term(TermId id) const { return terms_[id]; }
    /// Of a type, those made by fewer operators first.
    [[nodiscard]] std::vector<TermId> const& of_type(Type type) const {
        return by_type_[static_cast<std::size_t>(type)];
    }
    [[nodiscard]] std::vector<Naming> const& namings() const { return namings_; }
    [[nodiscard]] std::vector<Op> const& operators() const { return operators_; }
    [[nodiscard]] int data_inputs() const { return data_inputs_; }
    [[nodiscard]] std::string data_name(int input) const;
    /// Inputs that a term reads, a bit for each; of all terms together.
    [[nodiscard]] std::uint32_t reads(TermId term) const { return reads_[term]; }
    /// Of inputs that may be exchanged the first ones are read: others may be ahead only of those.
    [[nodiscard]] bool are_first(std::uint32_t inputs) const;
    /// Inputs among the terms, which `term` is made of.
    [[nodiscard]] std::vector<TermId> inputs_of(TermId term) const;
    [[nodiscard]] std::vector<TermId> const& inputs() const { return inputs_; }

private:
    using Made = std::tuple<TermOp, TermId, TermId>;
    void add_inputs(AffineConfig const& config);
    void add_numbers(std::vector<std::string> const& constants);
    void add_terms(bool merges_groups, int max_ops);
    void add_namings();
    void put(Term term);
    [[nodiscard]] TermId renamed(TermId id, std::vector<TermId> const& inputs) const;

    int data_inputs_;
    std::vector<Op> operators_;
    std::vector<Term> terms_;
    std::vector<TermId> inputs_;
    std::array<std::vector<TermId>, 6> by_type_;
    std::vector<std::uint32_t> reads_;
    std::map<Made, TermId> made_;
    std::map<std::uint64_t, TermId> by_print_;
    std::vector<Tensor> values_; ///< fixed ones, by which terms are told apart
    std::vector<Naming> namings_;
};

} // namespace espalier::problems::substitution::affine
