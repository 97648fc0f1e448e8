#include "offered.hpp"
#include "opened_run.hpp"

#include "espalier/base/error.hpp"
#include "espalier/base/print.hpp"
#include "espalier/search/host_cores.hpp"
#include "espalier/store/run_folder.hpp"
#include "espalier/store/times.hpp"

#include <fmt/format.h>

#include <map>

namespace espalier::app {
namespace {

using problems::Measurement;

base::Json to_json(std::size_t id, std::uint64_t key, Measurement const& measured) {
    base::Json out{{"id", id},
                   {"key", fmt::format("{:016x}", key)},
                   {"cost", measured.cost},
                   {"noise", measured.noise},
                   {"executed", search::name(measured.executed)}};
    if (!measured.reason.empty()) out["reason"] = measured.reason;
    out.update(measured.more);
    return out;
}

std::string to_text(base::Json const& one, std::string const& told, std::string const& unit) {
    if (!told.empty())
        return fmt::format("{:>6}  {}  {}\n", one["id"].get<std::size_t>(), one["key"].get<std::string>(), told);
    auto const reason = one.contains("reason") ? ": " + one["reason"].get<std::string>() : std::string();
    return fmt::format("{:>6}  {}  {:.6g} {} +- {:.2g} %  executed: {}{}\n", one["id"].get<std::size_t>(),
                       one["key"].get<std::string>(), one["cost"].get<double>(), unit, 100 * one["noise"].get<double>(),
                       one["executed"].get<std::string>(), reason);
}

/// Results of a run one after the other, each alone on this host; those whose time is known are not measured again.
class MeasuredRun {
public:
    MeasuredRun(OpenedRun const& run, MeasureArguments const& arguments, problems::MeasureOptions options)
        : run_(run), is_again_(arguments.again), options_(std::move(options)),
          file_(store::TimesFile::of(arguments.times)), known_(file_.read()) {}

    Measurement measure(std::size_t id, search::ResultRecord const& record) {
        auto measured = known(record);
        if (!measured) {
            search::Exclusive const alone(cores_, {});
            measured = run_.results().measure_with(id, options_);
        }
        if (measured->payload) payloads_[record.key] = *measured->payload;
        return *measured;
    }
    /// The measured times become part of the run and of the file of times. The numbers are shown even if that
    /// fails.
    void store() const {
        if (payloads_.empty()) return;
        try {
            store_in_run();
            file_.add(times());
        } catch (base::InputError const& error) {
            base::complain(fmt::format("the measured times are not stored: {}", error.what()));
        } catch (base::SystemError const& error) {
            base::complain(fmt::format("the measured times are not stored: {}", error.what()));
        }
    }

private:
    [[nodiscard]] std::optional<Measurement> known(search::ResultRecord const& record) const {
        auto const key = is_again_ ? std::nullopt : run_.results().time_key(record, options_);
        if (!key) return std::nullopt;
        if (auto const own = run_.results().time_in(record); own && own->key == *key)
            return run_.results().remembered(record, *own);
        auto const* const time = store::find_time(known_, *key);
        return time != nullptr ? run_.results().remembered(record, *time) : std::nullopt;
    }
    [[nodiscard]] search::ResultRecord changed(search::ResultRecord record) const {
        if (auto const found = payloads_.find(record.key); found != payloads_.end()) record.payload = found->second;
        return record;
    }
    void store_in_run() const {
        store::RunFolder const folder({.path = run_.summary().folder}, run_.summary().record.identity);
        auto record = folder.previous().value();
        for (auto& result : record.results) result = changed(result);
        store::write_run(folder.run_file(), record);
    }
    [[nodiscard]] std::vector<search::MeasuredTime> times() const {
        std::vector<search::MeasuredTime> out;
        for (auto const& record : run_.summary().record.results)
            if (payloads_.contains(record.key))
                if (auto const time = run_.results().time_in(changed(record))) out.push_back(*time);
        return out;
    }

    OpenedRun const& run_;
    bool is_again_;
    problems::MeasureOptions options_;
    store::TimesFile file_;
    std::vector<search::MeasuredTime> known_;
    search::HostCores cores_;
    std::map<std::uint64_t, base::Bytes> payloads_; ///< by key of a result
};

void tell_json(MeasureArguments const& arguments, OpenedRun const& run, base::Json const& list) {
    base::Json told{{"run", arguments.run}, {"unit", run.results().cost().unit}, {"measured", list}};
    if (auto const machine = run.results().machine(); !machine.is_null()) told["machine"] = machine;
    base::put_json(told);
}

} // namespace

int measure_command(MeasureArguments const& arguments) {
    OpenedRun const run(arguments.run);
    run.check_keys();
    if (!run.kind().offers().can_measure)
        throw base::InputError("{}: results of kind {} cannot be measured", arguments.run, run.kind().name());
    MeasuredRun measuring(run, arguments,
                          {.target = arguments.target.empty() ? "" : target_of(run, arguments.target),
                           .threads = static_cast<int>(arguments.threads),
                           .seconds = static_cast<double>(arguments.seconds)});
    auto list = base::Json::array();
    bool is_wrong = false;
    for (auto const& record : run.results().ranked()) {
        if (arguments.top > 0 && std::cmp_equal(list.size(), arguments.top)) break;
        auto const measured = measuring.measure(list.size() + 1, record);
        is_wrong = is_wrong || measured.executed == search::Executed::wrong;
        list.push_back(to_json(list.size() + 1, record.key, measured));
        if (!arguments.json) base::say("{}", to_text(list.back(), measured.text, run.results().cost().unit));
    }
    measuring.store();
    if (arguments.json) tell_json(arguments, run, list);
    return static_cast<int>(is_wrong ? base::ExitCode::verification_failed : base::ExitCode::done);
}

} // namespace espalier::app
