#include "espalier/problems/kind/stored_results.hpp"

#include "espalier/base/error.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace espalier::problems {
namespace {

template <class Word, std::size_t N>
struct WordSet {
    std::string_view title;
    std::array<std::string_view, N> const& names;
    Word search::Known::*member;
    std::optional<Word> nothing = {}; ///< the word that says that nothing is known
};

/// `verified: 24 proved, 2 random`; a word that all share stands alone. Empty if nothing is known about any.
template <class Word, std::size_t N>
std::string counted(WordSet<Word, N> const& set, std::vector<search::Known> const& results) {
    std::string text;
    for (std::size_t i = 0; i < N; ++i) {
        auto const word = static_cast<Word>(i);
        auto const count = std::ranges::count(results, word, set.member);
        if (count == 0) continue;
        if (std::cmp_equal(count, results.size()))
            return set.nothing == word ? "" : fmt::format("{}: {}", set.title, set.names[i]);
        text += fmt::format("{} {} {}", text.empty() ? fmt::format("{}:", set.title) : ",", count, set.names[i]);
    }
    return text;
}

} // namespace

std::vector<search::ResultRecord> StoredResults::ranked() const {
    auto records = run_.results;
    std::ranges::sort(records,
                      [](auto const& a, auto const& b) { return a.cost != b.cost ? a.cost < b.cost : a.key < b.key; });
    return records;
}

std::optional<std::size_t> StoredResults::find(std::uint64_t key) const {
    auto const list = ranked();
    auto const found = std::ranges::find(list, key, &search::ResultRecord::key);
    if (found == list.end()) return std::nullopt;
    return static_cast<std::size_t>(found - list.begin()) + 1;
}

base::Json StoredResults::results(std::size_t) const { return nullptr; }

std::string StoredResults::results_text(std::size_t) const { return {}; }

std::string StoredResults::title(base::Json const& result) const { return result.at("id").dump(); }

std::string StoredResults::one(std::size_t, std::string const&) const {
    throw base::InputError("results of kind {} cannot be shown one by one", run_.info.kind);
}

std::string StoredResults::whole(std::string const&) const {
    throw base::InputError("runs of kind {} have no format of their own", run_.info.kind);
}

std::string StoredResults::view(std::string const& name, std::size_t, std::string const&) const {
    throw base::InputError("runs of kind {} have no {}", run_.info.kind, name);
}

std::vector<File> StoredResults::files(std::size_t, EmitOptions const&) const {
    throw base::InputError("results of kind {} have no files", run_.info.kind);
}

Measurement StoredResults::measure(std::size_t) const {
    throw base::InputError("results of kind {} cannot be measured", run_.info.kind);
}

void StoredResults::recheck(std::uint64_t, Scope, std::function<void(Recheck const&)> const&) const {
    throw base::InputError("results of kind {} cannot be checked again", run_.info.kind);
}

std::string StoredResults::claim(Scope) const { return "right"; }

std::string known_text(std::vector<search::Known> const& results) {
    using search::Known;
    std::string text;
    auto const add = [&](std::string const& part) { text += (text.empty() || part.empty() ? "" : "; ") + part; };
    add(counted(WordSet{"verified", search::verification_names, &Known::verified}, results));
    add(counted(WordSet{"executed", search::executed_names, &Known::executed, std::optional(search::Executed::no)},
                results));
    add(counted(WordSet{"cost", search::cost_source_names, &Known::cost_source}, results));
    add(counted(
        WordSet{"optimality", search::optimality_names, &Known::optimality, std::optional(search::Optimality::none)},
        results));
    return text;
}

} // namespace espalier::problems
