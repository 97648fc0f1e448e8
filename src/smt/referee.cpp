#include "espalier/smt/referee.hpp"

#include "spelling.hpp"

#include <fmt/core.h>

namespace espalier::smt {

Referee::Referee(expr::Expressions const& expressions, std::vector<program::ExprId> targets)
    : Referee(expressions, std::move(targets), Options{}) {}

Referee::Referee(expr::Expressions const& expressions, std::vector<program::ExprId> targets, Options const& options)
    : expressions_(expressions), targets_(std::move(targets)), pattern_(options.pattern),
      context_({.rlimit = options.rlimit, .timeout_net = options.timeout_net}) {}

Referee::Answer Referee::is_part(program::ExprId e) {
    if (auto const known = answers_.find(e.value); known != answers_.end()) return known->second;
    auto const text = question(e);
    if (text.empty()) return Answer::unknown;
    auto const answer = context_.check(text) == smt::Answer::unsat ? Answer::proved : Answer::unknown;
    answers_.emplace(e.value, answer);
    return answer;
}

std::string Referee::question(program::ExprId e) const {
    Spelling spelling(expressions_);
    auto can_spell = spelling.add(e);
    for (auto const target : targets_) can_spell = can_spell && spelling.add(target);
    if (!can_spell) return {};
    auto text = spelling.text(pattern_);
    for (auto const target : targets_) text += fmt::format("(assert (part {}))\n", Spelling::name(target));
    return text + fmt::format("(assert (not (part {})))\n", Spelling::name(e));
}

} // namespace espalier::smt
