#include "measured.hpp"
#include "world.hpp"

#include "espalier/base/print.hpp"
#include "espalier/base/system.hpp"
#include "espalier/cluster/collectives/calibration.hpp"
#include "espalier/cluster/communicator.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <unistd.h>

namespace espalier::cluster::collectives {
namespace {

namespace fs = std::filesystem;
using reduction::Collective;
using Groups = std::vector<std::vector<int>>;

/// The groups of a level: one of them, and all that can be at once.
struct LevelGroups {
    std::string name;
    int size = 1;
    int concurrent = 1;
    Groups groups;
};

std::vector<LevelGroups> levels_of(std::vector<std::string> const& hosts) {
    auto const by_host = ranks_by_host(hosts);
    auto const nodes = static_cast<int>(by_host.size()), ranks = static_cast<int>(by_host.front().size());
    std::vector<LevelGroups> levels;
    if (nodes > 1) {
        LevelGroups across{"node", nodes, ranks, {}};
        for (int i = 0; i < ranks; ++i) {
            auto& group = across.groups.emplace_back();
            for (auto const& host : by_host) group.push_back(host[static_cast<std::size_t>(i)]);
        }
        levels.push_back(across);
    }
    if (ranks > 1) levels.push_back({"core", ranks, 1, by_host});
    return levels;
}

Groups pairs_of(Groups const& groups) {
    Groups pairs;
    for (auto const& group : groups)
        for (std::size_t i = 0; i + 1 < group.size(); i += 2) pairs.push_back({group[i], group[i + 1]});
    return pairs;
}

class Calibrator {
public:
    Calibrator(World& world, Options const& options) : world_(world), options_(options) {
        auto const largest = std::ranges::max(options.sizes);
        data_.assign(largest + 1024, std::byte{0});
        scratch_.assign(largest * 2 + 1024, std::byte{0});
    }
    [[nodiscard]] Calibration run() {
        Calibration found{.levels = {},
                          .hosts = {},
                          .ranks = world_.size(),
                          .mpi = mpi_version().running,
                          .date = base::utc_text(base::wall_ns())};
        std::set<std::string> const different(world_.hosts().begin(), world_.hosts().end());
        found.hosts.assign(different.begin(), different.end());
        for (auto const& level : levels_of(world_.hosts())) found.levels.push_back(fit_level(level));
        return found;
    }

private:
    [[nodiscard]] FittedLevel fit_level(LevelGroups const& level) {
        FittedLevel out{level.name, level.size, level.concurrent, {}};
        auto const pairs = pairs_of(level.groups);
        out.kinds.push_back({"point-to-point", fit_messages({pairs.front()}), fit_messages(pairs)});
        for (std::size_t c = 0; c < reduction::collective_names.size(); ++c) {
            auto const collective = static_cast<Collective>(c);
            out.kinds.push_back({std::string(name(collective)), fit_collective(collective, {level.groups.front()}),
                                 fit_collective(collective, level.groups)});
        }
        return out;
    }
    /// Known on rank 0 only. Short ones are done several times between two looks at the clock.
    [[nodiscard]] Line fit_times(std::function<void(std::uint64_t)> const& work, double share) {
        std::vector<Point> points;
        for (auto const bytes : options_.sizes) {
            int const times = bytes <= 64 * 1024 ? 10 : 1;
            auto const all = [&] {
                for (int i = 0; i < times; ++i) work(bytes);
            };
            for (int i = 0; i < 3; ++i) (void)world_.time(all); // not counted: memory and connections are new
            std::vector<double> samples;
            for (int i = 0; i < options_.repeats; ++i) samples.push_back(world_.time(all) / times);
            points.push_back({static_cast<double>(bytes), share * robust_median(samples)});
        }
        return fit(points);
    }
    /// There and back: half of it is one way.
    [[nodiscard]] Line fit_messages(Groups const& pairs) {
        auto const own = std::ranges::find_if(
            pairs, [&](auto const& pair) { return pair[0] == world_.rank() || pair[1] == world_.rank(); });
        return fit_times(
            [&, own](std::uint64_t bytes) {
                if (own == pairs.end()) return;
                bool const is_first = (*own)[0] == world_.rank();
                auto const other = (*own)[is_first ? 1 : 0];
                auto const count = static_cast<int>(bytes);
                if (is_first) MPI_Send(data_.data(), count, MPI_BYTE, other, 0, MPI_COMM_WORLD);
                MPI_Recv(data_.data(), count, MPI_BYTE, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                if (!is_first) MPI_Send(data_.data(), count, MPI_BYTE, other, 0, MPI_COMM_WORLD);
            },
            0.5);
    }
    [[nodiscard]] Line fit_collective(Collective collective, Groups const& groups) {
        world_.make_communicators(groups);
        auto const own = std::ranges::find_if(
            groups, [&](auto const& group) { return std::ranges::count(group, world_.rank()) > 0; });
        return fit_times(
            [&, own](std::uint64_t bytes) {
                if (own != groups.end()) call(collective, *own, bytes);
            },
            1);
    }
    /// `bytes` are the whole payload: of a ReduceScatter before, of an AllGather after.
    void call(Collective collective, std::vector<int> const& members, std::uint64_t bytes) {
        auto const comm = world_.data().of(members);
        auto const all = std::max<int>(1, static_cast<int>(bytes / sizeof(float)));
        auto const part = std::max<int>(1, all / static_cast<int>(members.size()));
        auto* const data = data_.data();
        auto* const other = scratch_.data();
        if (collective == Collective::all_reduce) MPI_Allreduce(data, other, all, MPI_FLOAT, MPI_SUM, comm);
        if (collective == Collective::reduce) MPI_Reduce(data, other, all, MPI_FLOAT, MPI_SUM, 0, comm);
        if (collective == Collective::reduce_scatter)
            MPI_Reduce_scatter_block(data, other, part, MPI_FLOAT, MPI_SUM, comm);
        if (collective == Collective::all_gather) MPI_Allgather(data, part, MPI_FLOAT, other, part, MPI_FLOAT, comm);
        if (collective == Collective::broadcast) MPI_Bcast(data, all, MPI_FLOAT, 0, comm);
    }

    World& world_;
    Options const& options_;
    std::vector<std::byte> data_, scratch_;
};

base::Json to_json(Line const& line) {
    return {{"latency_us", 1e6 * line.latency},
            {"bytes_per_s", line.seconds_per_byte > 0 ? base::Json(1 / line.seconds_per_byte) : base::Json()}};
}
base::Json levels_json(Calibration const& found) {
    auto levels = base::Json::array();
    for (auto const& level : found.levels) {
        base::Json kinds;
        for (auto const& kind : level.kinds)
            kinds[kind.name] = {{"alone", to_json(kind.alone)}, {"at_once", to_json(kind.together)}};
        levels.push_back({{"name", level.name}, {"size", level.size}, {"fits", kinds}});
    }
    return levels;
}

/// Complete or not at all: written beside the file, then renamed.
void write(fs::path const& file, std::string const& text) {
    auto const beside = fs::path(fmt::format("{}.{}.tmp", file.string(), getpid()));
    std::ofstream stream(beside);
    stream << text;
    stream.close();
    std::error_code error;
    if (stream) fs::rename(beside, file, error);
    if (stream && !error) return;
    fs::remove(beside, error);
    throw base::SystemError("{}: cannot be written: check the folder and its free space", file.string());
}

void check(fs::path const& file, Options const& options, World const& world) {
    if (world.size() < 2)
        throw base::InputError("one rank has nobody to talk to: start it with `mpiexec -n N espalier collectives "
                               "--calibrate ...`, as many ranks as there are devices");
    if (file.empty()) throw base::InputError("--calibrate needs a file: give -o hardware.yaml");
    auto const folder = file.has_parent_path() ? file.parent_path() : fs::path(".");
    if (!fs::is_directory(folder))
        throw base::InputError("{}: there is no such folder: make it first", folder.string());
    if (options.repeats < 1 || options.sizes.size() < 2)
        throw base::InputError("a line needs at least two sizes: give --size, e.g. 1KiB..4MiB");
    if (std::ranges::max(options.sizes) > (1u << 30))
        throw base::InputError("messages of more than 1GiB are not calibrated: use a smaller --size");
    (void)ranks_by_host(world.hosts());
}

} // namespace

int calibrate(std::filesystem::path const& file, std::function<Options()> const& prepare,
              std::chrono::nanoseconds patience) {
    World world(patience);
    auto const prepared = prepare_together(world, [&] {
        auto const options = prepare();
        check(file, options, world);
        return to_json(Job{{}, options});
    });
    if (prepared.code != 0) return prepared.code;
    return run_together(world, [&] {
        auto const options = job_from(prepared.json).options;
        auto const found = Calibrator(world, options).run();
        if (world.rank() != 0) return 0;
        auto const text = to_yaml(found);
        write(file, text);
        if (options.json)
            base::put_json(base::Json{{"file", file.string()}, {"yaml", text}, {"levels", levels_json(found)}});
        else
            base::say("{}written to {}\n", text, file.string());
        return 0;
    });
}

} // namespace espalier::cluster::collectives
