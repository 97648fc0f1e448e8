#include "measured.hpp"

#include "espalier/base/units.hpp"
#include "espalier/cluster/communicator.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <thread>

namespace espalier::cluster::collectives {
namespace {

std::string predicted_text(double predicted) {
    return std::isnan(predicted) ? std::string() : fmt::format("{:.1f}", predicted);
}

std::string line(std::string const& size, Row const& row) {
    auto const id = row.id > 0 ? fmt::format("{}", row.id) : std::string("-");
    if (!row.is_right)
        return fmt::format("{:>9} {:>5} {:>12} {:>11}  {:<23}  {}\n", size, id, predicted_text(row.predicted), "WRONG",
                           "left out", row.name);
    return fmt::format("{:>9} {:>5} {:>12} {:>11.1f}  {:<23}  {}\n", size, id, predicted_text(row.predicted),
                       row.choice.median, fmt::format("{:.1f} - {:.1f}", row.choice.low, row.choice.high), row.name);
}

std::string comparison(Row const& native, Row const& program) {
    auto const [ratio, is_noise] = speed_up(*native.report, *program.report);
    auto const other = fmt::format("{}: {:.1f} us ({:.1f} - {:.1f})", native.name, native.report->median,
                                   native.report->low, native.report->high);
    if (is_noise) return fmt::format("no difference, within the noise, from {}", other);
    if (ratio.median < 1)
        return fmt::format("{:.2f}x slower ({:.2f} - {:.2f}) than {}", 1 / ratio.median, 1 / ratio.high, 1 / ratio.low,
                           other);
    return fmt::format("{:.2f}x faster ({:.2f} - {:.2f}) than {}", ratio.median, ratio.low, ratio.high, other);
}

/// Ranks on this host that have no core of their own.
std::size_t ranks_without_core(std::vector<std::string> const& hosts) {
    auto const here = static_cast<std::size_t>(std::ranges::count(hosts, hosts.front()));
    auto const cores = static_cast<std::size_t>(std::max(1u, std::thread::hardware_concurrency()));
    return here > cores ? here - cores : 0;
}

base::Json to_json(Interval const& interval) {
    return {{"median_us", interval.median}, {"low_us", interval.low}, {"high_us", interval.high}};
}

base::Json to_json(Row const& row) {
    base::Json out;
    if (row.id > 0) out["id"] = row.id;
    out["name"] = row.name;
    out["right"] = row.is_right;
    if (!std::isnan(row.predicted)) out["predicted_us"] = row.predicted;
    if (row.is_right) out["choice"] = to_json(row.choice);
    if (row.report) out["report"] = to_json(*row.report);
    return out;
}

base::Json to_json(Row const& native, Row const& program) {
    auto const [ratio, is_noise] = speed_up(*native.report, *program.report);
    return {{"over", native.name},
            {"speed_up", ratio.median},
            {"low", ratio.low},
            {"high", ratio.high},
            {"within_noise", is_noise}};
}

/// Other programs that are not slower than the chosen one beyond the noise, on fresh runs.
std::vector<std::size_t> ties(SizeResult const& size) {
    std::vector<std::size_t> ids;
    auto const& chosen = size.programs[*size.chosen];
    for (auto const& row : size.programs)
        if (row.report && row.id != chosen.id && speed_up(*row.report, *chosen.report).is_noise) ids.push_back(row.id);
    return ids;
}

base::Json to_json(SizeResult const& size) {
    base::Json out{{"bytes", size.bytes}, {"elements", size.elements}};
    out["programs"] = base::Json::array();
    for (auto const& row : size.programs) out["programs"].push_back(to_json(row));
    out["mpi"] = base::Json::array();
    for (auto const& row : size.natives) out["mpi"].push_back(to_json(row));
    if (!size.chosen) return out;
    auto const& program = size.programs[*size.chosen];
    out["chosen"] = {{"id", program.id}};
    if (program.report) out["chosen"]["ties"] = ties(size);
    if (size.natives.front().report) out["chosen"]["default"] = to_json(size.natives.front(), program);
    if (size.natives[size.best_native].report)
        out["chosen"]["best_of_mpi"] = to_json(size.natives[size.best_native], program);
    return out;
}

} // namespace

std::string native_name(Request request, std::string const& forced) {
    auto const* name = request == Request::all_reduce   ? "MPI_Allreduce"
                       : request == Request::all_gather ? "MPI_Allgather"
                                                        : "MPI_Reduce_scatter_block";
    return forced.empty() ? name : fmt::format("{} {}", name, forced);
}

std::string heading(Options const& options, std::vector<std::string> const& hosts) {
    std::set<std::string> const different(hosts.begin(), hosts.end());
    auto out = fmt::format("{} ranks on {} host{}, {}, {}; medians of {} runs that choose and {} fresh ones that are "
                           "reported, with intervals of 95 %\n",
                           hosts.size(), different.size(), different.size() == 1 ? "" : "s", mpi_version().running,
                           info(options.element).name, options.repeats, options.repeats);
    if (auto const without = ranks_without_core(hosts); without > 0)
        out += fmt::format("{} ranks of a host have no core of their own: times are of waiting for cores more than for "
                           "messages\n",
                           without);
    return out;
}

std::string to_text(TaskResult const& task, SizeResult const& size) {
    std::string out;
    if (task.sizes.size() == 1)
        out += fmt::format("\n{}\n{:>9} {:>5} {:>12} {:>11}  {:<23}  program\n", task.name, "size", "id",
                           "predicted us", "median us", "interval");
    auto label = base::format_bytes(size.bytes);
    for (auto const* rows : {&size.programs, &size.natives})
        for (auto const& row : *rows) {
            out += line(label, row);
            label.clear();
        }
    if (!size.chosen) return out + "          every program is wrong\n";
    auto const& program = size.programs[*size.chosen];
    auto const equal = ties(size);
    out += fmt::format("          chosen: {}, on fresh runs {:.1f} us ({:.1f} - {:.1f}){}\n", program.id,
                       program.report->median, program.report->low, program.report->high,
                       equal.empty() ? std::string() : fmt::format("; within its noise: {}", fmt::join(equal, ", ")));
    if (size.natives.front().report) out += fmt::format("          {}\n", comparison(size.natives.front(), program));
    if (size.best_native != 0)
        out += fmt::format("          {}\n", comparison(size.natives[size.best_native], program));
    return out;
}

base::Json to_json(Report const& report) {
    base::Json out{{"ranks", report.hosts.size()},
                   {"hosts", report.hosts},
                   {"mpi", mpi_version().running},
                   {"element", info(report.options.element).name},
                   {"repeats", report.options.repeats},
                   {"seed", report.options.seed},
                   {"ranks_without_core", ranks_without_core(report.hosts)},
                   {"wrong", report.wrong}};
    out["tasks"] = base::Json::array();
    for (auto const& task : report.tasks) {
        auto sizes = base::Json::array();
        for (auto const& size : task.sizes) sizes.push_back(to_json(size));
        out["tasks"].push_back(
            {{"name", task.name}, {"request", reduction::info(task.request).name}, {"sizes", sizes}});
    }
    return out;
}

} // namespace espalier::cluster::collectives
