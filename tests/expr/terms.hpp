#pragma once

#include "espalier/expr/expressions.hpp"

#include <ostream>
#include <string>
#include <vector>

namespace espalier::expr {

using program::OpCode;
using program::Word;

inline const Word K = Word::symbol(0), N = Word::symbol(1), G = Word::symbol(2), F = Word::symbol(3);
inline const std::vector<std::string> symbol_names{"K", "N", "G", "F"};

/// An expression that is written like one.
struct Term {
    Expressions* in = nullptr;
    ExprId id;

    friend Term operator+(Term a, Term b) { return {a.in, a.in->add(a.id, b.id)}; }
    friend Term operator*(Term a, Term b) { return {a.in, a.in->mul(a.id, b.id)}; }
    friend Term operator/(Term a, Term b) { return {a.in, a.in->div(a.id, b.id)}; }
    friend bool operator==(Term a, Term b) { return a.id == b.id; }
    friend std::ostream& operator<<(std::ostream& out, Term t) { return out << t.in->text(t.id, symbol_names); }
};

inline Term leaf(Expressions& in, int index) { return {&in, in.leaf(index)}; }
inline Term sum(Word const& size, Term a) { return {a.in, a.in->sum(size, a.id)}; }
inline Term call(OpCode function, Term a, Word const& size = {}) {
    return {a.in, a.in->call(function, size, {{a.id}})};
}
inline Term exp(Term a) { return call(OpCode::exp, a); }
inline Term sqrt(Term a) { return call(OpCode::sqrt, a); }
inline Term silu(Term a) { return call(OpCode::silu, a); }
inline Term rms(Word const& size, Term a) { return call(OpCode::rms, a, size); }

} // namespace espalier::expr
