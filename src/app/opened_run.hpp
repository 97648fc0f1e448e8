#pragma once

#include "espalier/analysis/summary.hpp"
#include "espalier/problems/problems.hpp"

#include <unordered_map>

namespace espalier::app {

/// What a table lists: the results that are worth a row, or every result.
enum class Rows : std::uint8_t { worthwhile, all };

/// The format that has a flag of its own.
inline constexpr auto explain_format = "explain";

/// `mugraph or placement`: the kinds whose results have this format; empty: in any.
[[nodiscard]] std::string kinds_with(std::string_view format = {});

/// A run that was read, and what its kind says about it.
class OpenedRun final : public problems::OpenRun {
public:
    /// Throws InputError.
    explicit OpenedRun(std::string const& folder);
    explicit OpenedRun(analysis::RunSummary summary);
    OpenedRun(OpenedRun const&) = delete;
    OpenedRun& operator=(OpenedRun const&) = delete;

    [[nodiscard]] analysis::RunSummary const& summary() const { return summary_; }
    [[nodiscard]] config::RunConfig const& config() const { return config_; }
    [[nodiscard]] problems::StoredRun run() const override;
    [[nodiscard]] problems::Kind const& kind() const { return problems::kind_of(config_); }
    [[nodiscard]] problems::StoredResults const& results() const { return *results_; }

    /// Throws InputError if a stored result is not what its key says.
    void check_keys() const;
    /// The summary with the kind's own numbers.
    [[nodiscard]] base::Json summary_json() const;
    /// As the kind presents them, each with what is known about it; null: the kind has none.
    [[nodiscard]] base::Json results_json(std::size_t top) const;
    /// The same, of what a list for people has.
    [[nodiscard]] problems::Listing listed(std::size_t top) const;
    /// The four words of a stored result.
    [[nodiscard]] base::Json known_json(std::uint64_t key) const;
    /// For people, with a table of the best results.
    [[nodiscard]] std::string text(std::size_t top, Rows rows = Rows::worthwhile) const;
    /// The funnel and what to do about it, for people.
    [[nodiscard]] std::string funnel_text() const;
    /// What is known about all results, in words; see problems::known_text.
    [[nodiscard]] std::string known_text() const;
    /// A rank from 1, or a key of 16 hexadecimal digits. Throws InputError.
    [[nodiscard]] std::size_t find(std::string const& rank_or_key) const;

private:
    [[nodiscard]] base::Json with_known(base::Json list) const;

    analysis::RunSummary summary_;
    config::RunConfig config_;
    std::unique_ptr<problems::StoredResults> results_;
    std::unordered_map<std::uint64_t, search::Known> known_; ///< by key
};

} // namespace espalier::app
