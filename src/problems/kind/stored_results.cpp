#include "espalier/problems/kind/stored_results.hpp"

#include "espalier/base/error.hpp"

#include <fmt/core.h>

#include <algorithm>

namespace espalier::problems {

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

void StoredResults::recheck(std::uint64_t, Scope, std::function<void(Recheck const&)> const&) const {
    throw base::InputError("results of kind {} cannot be checked again", run_.info.kind);
}

std::string StoredResults::claim(Scope) const { return "right"; }

} // namespace espalier::problems
