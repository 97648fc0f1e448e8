#include "opened_run.hpp"

#include "espalier/base/error.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

namespace espalier::app {
namespace {

template <class T>
std::optional<T> number(std::string const& text, int base) {
    T value = 0;
    auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return value;
}

constexpr std::size_t key_digits = 16;

} // namespace

std::string kinds_with(std::string_view format) {
    std::vector<std::string> names;
    for (auto const* kind : problems::kinds())
        if (std::ranges::any_of(kind->formats(), [&](auto const& one) { return format.empty() || one.name == format; }))
            names.push_back(kind->name());
    return fmt::format("{}", fmt::join(names, " or "));
}

OpenedRun::OpenedRun(std::string const& folder) : OpenedRun(analysis::load_summary(folder)) {}

OpenedRun::OpenedRun(analysis::RunSummary summary)
    : summary_(std::move(summary)), config_(problems::experiments().parse_stored(summary_.record.config)),
      results_(problems::open(run())) {
    for (auto const& record : summary_.record.results) known_.emplace(record.key, results_->known(record));
}

problems::StoredRun OpenedRun::run() const {
    auto const& record = summary_.record;
    return {config_, record.info, record.counts, record.results, analysis::status_word(summary_)};
}

void OpenedRun::check_keys() const {
    try {
        results_->check_keys();
    } catch (base::InputError const& error) {
        throw base::InputError("{}: {}", (summary_.folder / "run.h5").string(), error.what());
    }
}

base::Json OpenedRun::summary_json() const {
    auto object = analysis::summary_json(summary_);
    if (auto own = results_->summary(); !own.is_null()) object[summary_.record.problem_kind] = own;
    return object;
}

base::Json OpenedRun::results_json(std::size_t top) const { return with_known(results_->results(top)); }

problems::Listing OpenedRun::listed(std::size_t top) const {
    auto list = results_->listed(top);
    list.rows = with_known(std::move(list.rows));
    return list;
}

base::Json OpenedRun::with_known(base::Json list) const {
    for (auto& result : list)
        result.update(known_json(*number<std::uint64_t>(result.at("key").get<std::string>(), 16)));
    return list;
}

base::Json OpenedRun::known_json(std::uint64_t key) const {
    auto const& known = known_.at(key);
    return {{"verified", search::name(known.verified)},
            {"executed", search::name(known.executed)},
            {"cost_source", search::name(known.cost_source)},
            {"optimality", search::name(known.optimality)}};
}

std::string OpenedRun::funnel_text() const {
    auto text = results_->stages().empty() ? std::string() : fmt::format("  stages      {}\n", results_->stages());
    text += search::to_text(results_->funnel());
    if (auto const advice = results_->advice(); !advice.empty()) text += fmt::format("  {}\n", advice);
    return text;
}

std::string OpenedRun::known_text() const {
    std::vector<search::Known> all;
    for (auto const& [key, known] : known_) all.push_back(known);
    return problems::known_text(all);
}

std::string OpenedRun::text(std::size_t top, Rows rows) const {
    return analysis::summary_text(summary_, funnel_text(), known_text()) +
           (rows == Rows::all ? results_->all_results_text(top) : results_->results_text(top));
}

std::size_t OpenedRun::find(std::string const& rank_or_key) const {
    auto const count = summary_.record.results.size();
    if (count == 0) throw base::InputError("{}: the run has no results", summary_.folder.string());
    if (rank_or_key.size() == key_digits) {
        auto const key = number<std::uint64_t>(rank_or_key, 16);
        if (auto const rank = key ? results_->find(*key) : std::nullopt) return *rank;
        throw base::InputError("{}: there is no program with the key {}: `show --json` lists the keys",
                               summary_.folder.string(), rank_or_key);
    }
    auto const rank = number<std::size_t>(rank_or_key, 10);
    if (!rank || *rank < 1 || *rank > count)
        throw base::InputError("{}: there is no program {}: use 1 to {}, or a key of {} digits",
                               summary_.folder.string(), rank_or_key, count, key_digits);
    return *rank;
}

} // namespace espalier::app
