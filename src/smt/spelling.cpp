#include "spelling.hpp"

#include "axioms.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace espalier::smt {
namespace {

using expr::Origin;
using program::ExprId;
using program::OpCode;
using program::Word;

/// The axioms know two by name. The others get a prefix: Z3 has functions of its own, such as tanh.
std::string name_of(OpCode function) {
    if (function == OpCode::exp) return "exponential";
    if (function == OpCode::sqrt) return "root";
    return fmt::format("f_{}", program::function_name(function));
}

template <class T>
void add_once(std::vector<T>& to, T const& value) {
    if (std::ranges::find(to, value) == to.end()) to.push_back(value);
}

/// One name a word: `s_1_0_-1` has a minus, which SMT-LIB does not allow, so that is an m.
std::string spell(Word const& word) {
    std::string out = "s";
    for (int i = 0; i < Word::max_symbols; ++i)
        if (auto const n = word.exponent(i); n != 0)
            out += fmt::format("_{}{}{}", i, n < 0 ? "m" : "p", n < 0 ? -n : n);
    return out;
}

std::vector<ExprId> operands(Origin const& origin) {
    switch (origin.op) {
    case Origin::Op::leaf:
        return {};
    case Origin::Op::sum:
        return {origin.a};
    case Origin::Op::call:
        return origin.arguments;
    case Origin::Op::add:
    case Origin::Op::mul:
    case Origin::Op::div:
        break;
    }
    return {origin.a, origin.b};
}

std::string_view name_of(Origin::Op op) {
    constexpr std::array<std::string_view, 6> names{"leaf", "add", "mul", "div", "sum", "call"};
    return names[static_cast<std::size_t>(op)];
}

/// `(x0 E) (x1 E)` and `x0 x1`.
std::string variables(std::size_t count, std::string_view format) {
    std::vector<std::string> out;
    for (std::size_t i = 0; i < count; ++i) out.push_back(fmt::format(fmt::runtime(format), i));
    return fmt::format("{}", fmt::join(out, " "));
}

} // namespace

std::string Spelling::name(ExprId e) const { return fmt::format("e{}", std::ranges::find(order_, e) - order_.begin()); }

bool Spelling::add(ExprId e) {
    if (std::ranges::find(order_, e) != order_.end()) return true;
    auto const origin = expressions_.origin(e);
    if (!origin) return false;
    for (auto const operand : operands(*origin))
        if (!add(operand)) return false;
    note_words(*origin);
    order_.push_back(e);
    return true;
}

void Spelling::note_words(Origin const& origin) {
    if (origin.op == Origin::Op::leaf) add_once(leaves_, origin.leaf);
    if (origin.op == Origin::Op::sum) add_once(words_, origin.size);
    if (origin.op == Origin::Op::call)
        add_once(functions_, Name{origin.function, origin.size, origin.arguments.size()});
}

std::string Spelling::spell(Name const& name) const {
    auto out = name_of(name.function);
    if (!name.size.is_unit()) out += "_" + smt::spell(name.size);
    if (name.arity != 1) out += fmt::format("_of_{}", name.arity);
    return out;
}

std::string Spelling::declarations() const {
    std::string out;
    for (auto const leaf : leaves_) out += fmt::format("(declare-const x{} E)\n", leaf);
    for (auto const& name : functions_) {
        auto const arguments = variables(name.arity, "x{}"), bound = variables(name.arity, "(x{} E)");
        out += fmt::format("(declare-fun {} ({}) E)\n", spell(name), variables(name.arity, "E"));
        out += fmt::format("(assert (forall ({}) (=> (part ({} {})) (and {}))))\n", bound, spell(name), arguments,
                           variables(name.arity, "(part x{})"));
    }
    for (auto const& [function, law] :
         {std::pair{OpCode::exp, exponential_axiom()}, std::pair{OpCode::sqrt, root_axiom()}})
        if (std::ranges::find(functions_, Name{function, {}, 1}) != functions_.end()) out += law;
    return out;
}

// sum(N, x) = sum(n, sum(N/n, x)) for the sizes that occur, as Z3 cannot think of factors.
std::string Spelling::sizes(expr::Pattern const& pattern) const {
    if (words_.empty()) return {};
    auto all = words_;
    std::string laws(sum_axioms());
    for (auto const& whole : words_)
        for (auto const& part : words_) {
            auto const quotient = whole / part;
            if (quotient.is_unit() || !pattern.allows(quotient)) continue;
            add_once(all, quotient);
            laws += fmt::format("(assert (forall ((x E)) (= (sum {} x) (sum {} (sum {} x)))))\n", smt::spell(whole),
                                smt::spell(part), smt::spell(quotient));
        }
    std::string out;
    for (auto const& word : all) out += fmt::format("(declare-const {} S)\n", smt::spell(word));
    return out + laws;
}

std::string Spelling::definition(Origin const& origin) const {
    if (origin.op == Origin::Op::leaf) return fmt::format("x{}", origin.leaf);
    std::string out(name_of(origin.op));
    if (origin.op == Origin::Op::sum) out += " " + smt::spell(origin.size);
    if (origin.op == Origin::Op::call) out = spell(Name{origin.function, origin.size, origin.arguments.size()});
    for (auto const operand : operands(origin)) out += " " + name(operand);
    return fmt::format("({})", out);
}

std::string Spelling::text(expr::Pattern const& pattern) const {
    std::string out(arithmetic_axioms());
    out += declarations();
    out += sizes(pattern);
    for (auto const e : order_)
        out += fmt::format("(define-fun {} () E {})\n", name(e), definition(*expressions_.origin(e)));
    return out;
}

} // namespace espalier::smt
