#pragma once

#include "espalier/expr/pair_table.hpp"

#include "store.hpp"

#include <limits>
#include <optional>

namespace espalier::expr {

/// The operations on normal forms. What would have more monomials than the limit, anywhere in it, is too large and not
/// built; what is made of something too large is too large.
class Algebra {
public:
    [[nodiscard]] ExprId leaf(int index);
    [[nodiscard]] ExprId add(ExprId a, ExprId b);
    [[nodiscard]] ExprId mul(ExprId a, ExprId b);
    [[nodiscard]] ExprId div(ExprId a, ExprId b);
    [[nodiscard]] ExprId sum(Word const& size, ExprId a);
    [[nodiscard]] ExprId call(program::OpCode function, Word const& size, std::span<ExprId const> arguments);
    /// None if too large.
    [[nodiscard]] std::optional<MonoId> mul(MonoId a, MonoId b);

    void set_limit(std::size_t monomials);
    /// Whether a monomial may have nothing above its bar.
    void set_has_inverses(bool has) { has_inverses_ = has; }
    [[nodiscard]] bool has_inverses() const { return has_inverses_; }
    /// Whether an exponential that subtracts a maximum has no part without it.
    void set_keeps_maxima(bool keeps) { keeps_maxima_ = keeps; }
    [[nodiscard]] bool keeps_maxima() const { return keeps_maxima_; }
    [[nodiscard]] Store& store() { return store_; }
    [[nodiscard]] Store const& store() const { return store_; }
    [[nodiscard]] std::size_t memory_bytes() const { return store_.memory_bytes() + products_.memory_bytes(); }

private:
    [[nodiscard]] ExprId only(Mono const& mono);
    [[nodiscard]] bool is_call_of(program::OpCode function, ExprId e) const;
    [[nodiscard]] ExprId multiply_out(ExprId a, ExprId b);

    Store store_;
    PairTable products_;
    std::size_t limit_ = std::numeric_limits<std::size_t>::max();
    bool has_inverses_ = false;
    bool keeps_maxima_ = false;
};

} // namespace espalier::expr
