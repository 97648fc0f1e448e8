#pragma once

#include "espalier/base/json.hpp"
#include "espalier/config/run_config.hpp"
#include "espalier/problems/kind/measurement.hpp"
#include "espalier/search/funnel.hpp"
#include "espalier/search/times.hpp"
#include "espalier/search/types.hpp"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace espalier::problems {

/// Everything in a stored run that a problem needs to describe it in its own words. What it refers to outlives it.
struct StoredRun {
    config::RunConfig const& config;
    search::ProblemInfo const& info;
    search::Counts const& counts;
    std::vector<search::ResultRecord> const& results;
    std::string status = "complete"; ///< `running`, `interrupted`, or why it ended
};

/// A key of the objects that results_json() gives, as a column of a table.
struct Column {
    std::string key; ///< `a.b`: what `b` is in the object `a`
    std::string title;
    std::string unit = {}; ///< empty: none
};

/// What costs are, for all results of a run.
struct CostInfo {
    std::string unit; ///< `us`; empty: the problem has no costs
    search::CostSource source = search::CostSource::estimated;
    double noise = 0;                 ///< of measured ones, relative; 0: not known
    std::string about;                ///< a sentence: for which machine, by which model
    std::optional<double> input = {}; ///< of what the results are compared with
};

/// The results that a list for people has.
struct Listing {
    base::Json rows;  ///< objects as in results(), which may have more keys; null: the kind has no results
    std::string note; ///< a sentence: which ones they are, and which were left out; empty: simply the best
};

/// A form in which a result, or the whole run, is available.
struct Format {
    std::string name;
    std::string help;
    std::string caution = {}; ///< printed when it is asked for
};

/// Something in a run that has numbers of its own, beside the results: `show RUN --placement 2`.
struct View {
    std::string name; ///< of its flag, without dashes
    std::string help;
    std::vector<Format> formats; ///< the first is the default
};

/// What runs of a kind can be asked for besides a result in a format; for help and completion as well.
struct Offers {
    std::vector<Format> run_formats = {}; ///< of the whole run
    std::vector<View> views = {};
    std::vector<Format> targets = {};      ///< of `emit`, the first is the default; empty: a result has no files
    std::vector<Format> emit_formats = {}; ///< uses of its folder, the first is the default; empty: there is one
    bool can_measure = false;
};

/// A file of a result, for `emit`.
struct File {
    std::string name; ///< relative to the folder that was asked for
    std::string text;
};

/// Which of the files that the kind offers.
struct EmitOptions {
    std::string target;
    std::string format;
};

/// The outcome of checking a stored result again.
struct Recheck {
    std::size_t id = 0;
    std::uint64_t key = 0;
    bool holds = false;
    bool is_proved = false;
    std::int64_t elements = 0;
    double error_bound = 1;
    std::string reason;
};
enum class Scope : std::uint8_t { sampled, every_element };

/// A run, as its kind presents it to people and scripts. All from what is stored; the best result is number 1.
/// A kind that only counts overrides nothing but summary().
class StoredResults {
public:
    explicit StoredResults(StoredRun run) : run_(std::move(run)) {}
    virtual ~StoredResults() = default;
    StoredResults(StoredResults const&) = delete;
    StoredResults& operator=(StoredResults const&) = delete;

    /// The kind's own numbers, which go under its name; null: none.
    [[nodiscard]] virtual base::Json summary() const { return nullptr; }
    /// Empty: nodes and prune reasons say it all.
    [[nodiscard]] virtual search::Funnel funnel() const { return {}; }
    /// Which stages are complete, in words; empty: there is nothing to say.
    [[nodiscard]] virtual std::string stages() const { return {}; }
    /// What to do if nothing was found, and the like: a sentence below the funnel.
    [[nodiscard]] virtual std::string advice() const { return {}; }

    [[nodiscard]] virtual CostInfo cost() const { return {}; }
    /// The order in which columns of results() are shown.
    [[nodiscard]] virtual std::vector<Column> columns() const { return {}; }
    /// One flat object per result, the best first; `top` 0: all.
    [[nodiscard]] virtual base::Json results(std::size_t top) const;
    /// The entries of results() that a page lists: those that are worth a row.
    [[nodiscard]] virtual Listing listed(std::size_t top) const { return {results(top), {}}; }
    /// What the results are compared with, in the same terms; null: nothing.
    [[nodiscard]] virtual base::Json input() const { return nullptr; }
    /// What else `show --json` gives, beside `results` and `input`.
    [[nodiscard]] virtual base::Json more() const { return base::Json::object(); }
    /// A table of the best for people, with whatever belongs to it.
    [[nodiscard]] virtual std::string results_text(std::size_t top) const;
    /// The same with every result, where results_text() leaves some out; `top` 0: all.
    [[nodiscard]] virtual std::string all_results_text(std::size_t top) const { return results_text(top); }
    /// `1: 47.50 us, 1 kernel`, from an object of results().
    [[nodiscard]] virtual std::string title(base::Json const& result) const;

    /// Nothing is executed or known to be the best unless a kind says so.
    [[nodiscard]] virtual search::Known known(search::ResultRecord const& record) const {
        return {.verified = record.verification, .cost_source = cost().source};
    }

    /// Of one result; the first is the default. Empty: results cannot be shown one by one.
    [[nodiscard]] virtual std::vector<Format> formats() const { return {}; }
    /// One of formats(), of result `id`. The caller has checked both.
    [[nodiscard]] virtual std::string one(std::size_t id, std::string const& format) const;
    /// Of what the kind offers; the caller has checked formats and targets. Throws InputError for a wrong number.
    [[nodiscard]] virtual std::string whole(std::string const& format) const;
    [[nodiscard]] virtual std::string view(std::string const& name, std::size_t number,
                                           std::string const& format) const;
    [[nodiscard]] virtual std::vector<File> files(std::size_t id, EmitOptions const& options) const;
    /// Nothing else should run meanwhile.
    [[nodiscard]] virtual Measurement measure(std::size_t id) const;
    [[nodiscard]] virtual Measurement measure_with(std::size_t id, MeasureOptions const&) const { return measure(id); }
    /// Which of them a search measures when it is complete, the most promising first; none that has a time.
    [[nodiscard]] virtual std::vector<search::ResultRecord> worth_measuring(std::size_t) const { return {}; }
    /// The name under which the time of a result would be kept if it were measured here; nothing if times are not kept.
    [[nodiscard]] virtual std::optional<search::TimeKey> time_key(search::ResultRecord const&,
                                                                  MeasureOptions const&) const {
        return std::nullopt;
    }
    /// The times to be kept of a measured result; nothing if it was not measured.
    [[nodiscard]] virtual std::optional<search::MeasuredTime> time_in(search::ResultRecord const&) const {
        return std::nullopt;
    }
    /// A result that need not be measured, because its time is kept; nothing if the kept time does not say enough.
    [[nodiscard]] virtual std::optional<Measurement> remembered(search::ResultRecord const&,
                                                                search::MeasuredTime const&) const {
        return std::nullopt;
    }
    /// Where results are measured: what `measure` prints about it, beside the list; null: nothing.
    [[nodiscard]] virtual base::Json machine() const { return nullptr; }

    /// Every stored result is what its key says: a text that was changed is no longer what was verified. Cheap enough
    /// for every load. Throws InputError that names the result.
    virtual void check_keys() const {}
    /// Every result again, the best first, from what is stored and with fresh randomness.
    virtual void recheck(std::uint64_t seed, Scope scope, std::function<void(Recheck const&)> const& visit) const;
    /// What a result that passes is, and how that was established: `equal to the input (...)`.
    [[nodiscard]] virtual std::string claim(Scope scope) const;

    /// The rank of a result by its key, from 1. Nothing if there is none.
    [[nodiscard]] std::optional<std::size_t> find(std::uint64_t key) const;
    /// The best first: the order of ranks everywhere. The cheapest first, equal costs by key, unless a kind says
    /// otherwise.
    [[nodiscard]] virtual std::vector<search::ResultRecord> ranked() const;

protected:
    [[nodiscard]] StoredRun const& run() const { return run_; }

private:
    StoredRun run_;
};

/// `verified: 24 proved, 2 random; cost: estimated`: how many results have which word; sets in which nothing is known
/// are left out.
[[nodiscard]] std::string known_text(std::vector<search::Known> const& results);

} // namespace espalier::problems
