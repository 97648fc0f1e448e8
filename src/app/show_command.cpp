#include "commands.hpp"

#include "espalier/analysis/summary.hpp"
#include "espalier/base/error.hpp"
#include "espalier/base/system.hpp"
#include "espalier/config/load.hpp"
#include "espalier/problems/problems.hpp"

#include <fmt/core.h>

namespace espalier::app {

namespace {

/// What a problem needs of a stored run. The record must outlive it.
class Stored {
public:
    explicit Stored(store::RunRecord const& record)
        : config_(config::parse_experiment(record.config, "the stored experiment")), record_(record) {}
    [[nodiscard]] problems::StoredRun run() const { return {config_, record_.info, record_.counts, record_.results}; }

private:
    config::RunConfig config_;
    store::RunRecord const& record_;
};

void print_json(analysis::RunSummary const& summary, problems::StoredRun const& run, std::size_t top) {
    auto object = analysis::summary_json(summary);
    if (auto own = problems::summary(run); !own.is_null()) object[summary.record.problem_kind] = own;
    if (auto list = problems::results(run, top); !list.is_null()) object.update(list);
    fmt::print("{}\n", object.dump(2));
}

/// Nothing of the stored program is taken on trust: its text is parsed and the program checked again.
base::Json to_json(problems::Recheck const& check) {
    base::Json out{{"id", check.id},
                   {"key", fmt::format("{:016x}", check.key)},
                   {"holds", check.holds},
                   {"proved", check.is_proved},
                   {"elements", check.elements},
                   {"error_bound", check.error_bound}};
    if (!check.reason.empty()) out["reason"] = check.reason;
    return out;
}

std::string to_text(problems::Recheck const& check) {
    if (!check.holds) return fmt::format("{:>6}  {:016x}  NOT EQUAL: {}\n", check.id, check.key, check.reason);
    return fmt::format("{:>6}  {:016x}  equal on {} elements{}\n", check.id, check.key, check.elements,
                       check.is_proved ? ", proved" : "");
}

} // namespace

void print_summary(analysis::RunSummary const& summary, bool json) {
    Stored const stored(summary.record);
    if (json) {
        auto object = analysis::summary_json(summary);
        if (auto own = problems::summary(stored.run()); !own.is_null()) object[summary.record.problem_kind] = own;
        return fmt::print("{}\n", object.dump(2));
    }
    fmt::print("{}{}", analysis::summary_text(summary, problems::funnel_text(stored.run())),
               problems::results_text(stored.run(), 10));
}

int show_command(ShowArguments const& arguments) {
    auto const summary = analysis::load_summary(arguments.run);
    auto const code = arguments.status ? analysis::status_code(summary) : 0;
    if (arguments.status && !arguments.json) {
        fmt::print("{}\n", analysis::status_word(summary));
        return code;
    }
    Stored const stored(summary.record);
    if (arguments.program > 0)
        fmt::print("{}", problems::one_result(stored.run(), arguments.program,
                                              arguments.explain ? "explain" : arguments.format));
    else if (arguments.json)
        print_json(summary, stored.run(), arguments.top);
    else
        fmt::print("{}{}", analysis::summary_text(summary, problems::funnel_text(stored.run())),
                   problems::results_text(stored.run(), arguments.top > 0 ? arguments.top : 10));
    return code;
}

int verify_command(VerifyArguments const& arguments) {
    auto const summary = analysis::load_summary(arguments.run);
    Stored const stored(summary.record);
    auto const seed = arguments.seed > 0 ? arguments.seed : static_cast<std::uint64_t>(base::wall_ns());
    auto const count = summary.record.results.size();
    if (count == 0) throw base::InputError("{}: the run has no results to verify", arguments.run);
    auto const scope = arguments.full ? problems::Scope::every_element : problems::Scope::sampled;
    auto list = base::Json::array();
    std::size_t wrong = 0;
    problems::verify_again(stored.run(), seed, scope, [&](problems::Recheck const& check) {
        wrong += check.holds ? 0 : 1;
        if (arguments.json)
            list.push_back(to_json(check));
        else
            fmt::print("{}", to_text(check));
    });
    if (arguments.json)
        fmt::print(
            "{}\n",
            base::Json{{"run", arguments.run}, {"seed", seed}, {"programs", count}, {"wrong", wrong}, {"checks", list}}
                .dump(2));
    else
        fmt::print("{}: {} of {} programs are {}, seed {}\n", arguments.run, count - wrong, count,
                   problems::recheck_claim(stored.run(), scope), seed);
    return static_cast<int>(wrong > 0 ? base::ExitCode::verification_failed : base::ExitCode::done);
}

int check_command(std::vector<std::string> const& files, bool json) {
    auto report = base::Json::array();
    int bad = 0;
    for (auto const& file : files) {
        try {
            auto const config = config::load_experiment(file);
            if (!json) fmt::print("{}: ok ({})\n", file, config::kind_of(config.problem));
            report.push_back({{"file", file}, {"ok", true}, {"problem", config::kind_of(config.problem)}});
        } catch (base::InputError const& error) {
            ++bad;
            if (!json) fmt::print(stderr, "{}\n", error.what());
            report.push_back({{"file", file}, {"ok", false}, {"error", error.what()}});
        }
    }
    if (json) fmt::print("{}\n", report.dump(2));
    return static_cast<int>(bad > 0 ? base::ExitCode::invalid_input : base::ExitCode::done);
}

int schema_command() {
    fmt::print("{}\n", config::schema_json());
    return 0;
}

} // namespace espalier::app
