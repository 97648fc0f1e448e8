#include "espalier/smt/referee.hpp"

#include "spelling.hpp"

#include <fmt/format.h>

namespace espalier::smt {

Referee::Referee(expr::Expressions const& expressions, std::vector<program::ExprId> targets)
    : Referee(expressions, std::move(targets), Options{}) {}

Referee::Referee(expr::Expressions const& expressions, std::vector<program::ExprId> targets, Options const& options)
    : expressions_(expressions), targets_(std::move(targets)),
      own_(options.shared ? nullptr : std::make_unique<Answers>()),
      answers_(options.shared ? options.shared : own_.get()), stop_(options.stop),
      context_({.rlimit = options.rlimit, .timeout_net = options.timeout_net}) {}

Referee::Answer Referee::is_part(program::ExprId e, std::uint32_t pattern) {
    auto const key = key_of(e, pattern);
    if (auto const known = known_.find(key); known != known_.end()) return known->second;
    auto const name = about(e, pattern);
    auto answer = answers_->find(name);
    if (!answer) {
        auto text = question(e, pattern);
        if (text.empty()) return Answer::unknown;
        answer = answers_->ask({name, std::move(text)}, context_, stop_);
    }
    if (!answer) return Answer::unknown; // no answer: it may be asked again
    return known_[key] = *answer == smt::Answer::unsat ? Answer::proved : Answer::unknown;
}

void Referee::announce(program::ExprId e, std::uint32_t pattern) {
    if (known_.contains(key_of(e, pattern))) return;
    auto name = about(e, pattern);
    if (answers_->find(name)) return;
    if (auto text = question(e, pattern); !text.empty()) answers_->announce({std::move(name), std::move(text)});
}

/// Equal expressions have equal texts, whatever ids a thread gave them; the targets are those of all who share.
std::string Referee::about(program::ExprId e, std::uint32_t pattern) const {
    auto const& splits = expressions_.pattern_of(pattern).split_by;
    return fmt::format("{:x}: {}", fmt::join(splits, " "), expressions_.text(e));
}

std::string Referee::question(program::ExprId e, std::uint32_t pattern) const {
    Spelling spelling(expressions_);
    auto can_spell = spelling.add(e);
    for (auto const target : targets_) can_spell = can_spell && spelling.add(target);
    if (!can_spell) return {};
    auto text = spelling.text(expressions_.pattern_of(pattern));
    for (auto const target : targets_) text += fmt::format("(assert (part {}))\n", spelling.name(target));
    return text + fmt::format("(assert (not (part {})))\n", spelling.name(e));
}

} // namespace espalier::smt
