#include "measured.hpp"

#include "espalier/base/print.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

namespace espalier::cluster::collectives {
namespace {

/// What competes at one size: a program or MPI's own collective.
struct Contender {
    Row row;
    Forced forced;
    std::optional<Execution> program;
    std::optional<Native> native;
    std::vector<double> choice, report; ///< us, on rank 0

    [[nodiscard]] std::size_t data_bytes() const { return program ? program->data_bytes() : native->data_bytes(); }
    [[nodiscard]] std::size_t scratch_bytes() const {
        return program ? program->scratch_bytes() : native->scratch_bytes();
    }
    void run(std::byte* data, std::byte* scratch) const {
        if (program)
            program->run(data, scratch);
        else
            native->run(data, scratch);
    }
};

/// All contenders for a task at a size, and the memory that they share. Times are taken on zeros: they stay zeros
/// however often they are added, and no processor adds them more quickly.
class Contest {
public:
    Contest(World& world, Options const& options, std::vector<Plan const*> const& plans, std::size_t size_index)
        : world_(world), options_(options), bytes_(options.sizes[size_index]),
          elements_(std::max<std::size_t>(1, bytes_ / size_of(options.element))) {
        bytes_ = elements_ * size_of(options.element); // whole elements
        for (auto const* plan : plans) add(*plan, size_index);
        for (auto const& forced : forced_algorithms(plans.front()->request)) add(*plans.front(), forced);
        std::size_t data = 0, scratch = 0;
        for (auto const& one : contenders_) {
            data = std::max(data, one.data_bytes());
            scratch = std::max(scratch, one.scratch_bytes());
        }
        data_.assign(data, std::byte{0});
        scratch_.assign(scratch, std::byte{0});
    }

    [[nodiscard]] SizeResult run() {
        for (auto const& one : contenders_)
            if (one.row.is_right) (void)time(one); // not counted: memory and connections are new
        auto everybody = right_ones();
        take_times(everybody, &Contender::choice);
        auto const choice = choose();
        std::erase_if(everybody, [&](auto const* one) {
            return one->program && std::ranges::count(choice.finalists, one->row.id) == 0;
        });
        take_times(everybody, &Contender::report);
        return result(choice);
    }

private:
    void add(Plan const& plan, std::size_t size_index) {
        auto& made = contenders_.emplace_back();
        made.row = {.id = plan.id, .name = plan.text, .predicted = std::nan("")};
        if (plan.segments > 1) made.row.name += fmt::format(" in {} segments", plan.segments);
        if (size_index < plan.predicted_us.size()) made.row.predicted = plan.predicted_us[size_index];
        made.program.emplace(world_, plan, elements_, options_.element);
        made.row.is_right = count_wrong(world_, plan, elements_, options_.element, fresh_seed()) == 0;
    }
    void add(Plan const& plan, Forced const& forced) {
        auto& made = contenders_.emplace_back();
        made.row = {.name = native_name(plan.request, forced.name), .predicted = std::nan("")};
        made.forced = forced;
        made.native.emplace(world_, plan, elements_, options_.element);
        made.row.is_right = count_wrong(world_, plan, elements_, options_.element, fresh_seed(), forced) == 0;
    }
    [[nodiscard]] std::uint64_t fresh_seed() {
        return options_.seed * 1'000'003 + bytes_ * 31 + static_cast<std::uint64_t>(contenders_.size()) * 7919;
    }
    [[nodiscard]] double time(Contender const& one) {
        Forcing const forcing(one.forced);
        return 1e6 * world_.time([&] { one.run(data_.data(), scratch_.data()); });
    }
    [[nodiscard]] std::vector<Contender*> right_ones() {
        std::vector<Contender*> list;
        for (auto& one : contenders_)
            if (one.row.is_right) list.push_back(&one);
        return list;
    }
    /// Round robin, so that what else happens on the machine hits all alike.
    void take_times(std::vector<Contender*> const& list, std::vector<double> Contender::*times) {
        for (int repeat = 0; repeat < options_.repeats; ++repeat)
            for (auto* one : list) (one->*times).push_back(time(*one));
    }
    struct Choice {
        std::vector<std::size_t> finalists; ///< ids: the best program, and those that could as well be
        std::size_t native = 0;             ///< place among MPI's own
    };
    static constexpr std::size_t most_finalists = 8;

    /// Collective: rank 0 has the times.
    [[nodiscard]] Choice choose() {
        Choice choice;
        if (world_.rank() == 0) choice = {finalists(), best_native()};
        auto const told = base::Json::parse(world_.broadcast(base::Json{choice.finalists, choice.native}.dump()));
        return {told[0], told[1]};
    }
    /// Programs whose interval reaches into that of the best one, the best first.
    [[nodiscard]] std::vector<std::size_t> finalists() const {
        std::vector<std::pair<Interval, std::size_t>> programs;
        for (auto const& one : contenders_)
            if (one.program && one.row.is_right) programs.emplace_back(median_interval(one.choice), one.row.id);
        std::ranges::stable_sort(programs, {}, [](auto const& one) { return one.first.median; });
        std::vector<std::size_t> ids;
        for (auto const& [interval, id] : programs)
            if (interval.low <= programs.front().first.high && ids.size() < most_finalists) ids.push_back(id);
        return ids;
    }
    [[nodiscard]] std::size_t best_native() const {
        std::size_t place = 0, best = 0;
        double least = 0;
        for (auto const& one : contenders_) {
            if (!one.native) continue;
            auto const median = one.row.is_right ? median_interval(one.choice).median : 0;
            if (one.row.is_right && (least == 0 || median < least)) best = place, least = median;
            ++place;
        }
        return best;
    }
    [[nodiscard]] SizeResult result(Choice const& choice) {
        SizeResult result{.bytes = bytes_, .elements = elements_, .best_native = choice.native};
        for (auto& one : contenders_) {
            if (!one.choice.empty() && world_.rank() == 0) one.row.choice = median_interval(one.choice);
            if (!one.report.empty() && world_.rank() == 0) one.row.report = median_interval(one.report);
            bool const is_chosen = !choice.finalists.empty() && one.row.id == choice.finalists.front();
            if (one.program && is_chosen) result.chosen = result.programs.size();
            (one.program ? result.programs : result.natives).push_back(one.row);
        }
        return result;
    }

    World& world_;
    Options const& options_;
    std::uint64_t bytes_;
    std::size_t elements_;
    std::vector<Contender> contenders_;
    std::vector<std::byte> data_, scratch_;
};

std::vector<std::vector<Plan const*>> tasks_of(std::vector<Plan> const& plans) {
    std::vector<std::vector<Plan const*>> tasks;
    for (auto const& plan : plans) {
        auto const found = std::ranges::find_if(tasks, [&](auto const& task) {
            return task.front()->groups == plan.groups && task.front()->request == plan.request;
        });
        (found == tasks.end() ? tasks.emplace_back() : *found).push_back(&plan);
    }
    return tasks;
}

void check(Job const& job, int ranks) {
    auto const& options = job.options;
    if (job.plans.empty()) throw base::InputError("there are no programs to execute: the search found none");
    if (options.sizes.empty()) throw base::InputError("there are no sizes to measure: give --size, e.g. 1KiB..64MiB");
    if (options.repeats < fewest_samples)
        throw base::InputError("{} repeats are too few for an interval of 95 % around a median: give at least {}",
                               options.repeats, fewest_samples);
    check_ranks(job.plans, ranks);
    auto const most_elements = *std::ranges::max_element(options.sizes) / size_of(options.element);
    for (auto const& plan : job.plans) check_size(plan, most_elements);
    for (auto const& plan : job.plans) (void)is_complete(plan); // throws if it cannot be done
}

std::uint64_t count_wrong_rows(SizeResult const& size) {
    auto const wrong = [](auto const& rows) { return std::ranges::count(rows, false, &Row::is_right); };
    return static_cast<std::uint64_t>(wrong(size.programs) + wrong(size.natives));
}

int measure_job(World& world, Job const& job) {
    Report report{.options = job.options, .hosts = world.hosts(), .tasks = {}};
    bool const prints = world.rank() == 0 && !job.options.json;
    if (prints) base::say(heading(job.options, world.hosts()));
    for (auto const& plans : tasks_of(job.plans)) {
        auto& task = report.tasks.emplace_back();
        task.name = plans.front()->task;
        task.request = plans.front()->request;
        for (std::size_t i = 0; i < job.options.sizes.size(); ++i) {
            task.sizes.push_back(Contest(world, job.options, plans, i).run());
            report.wrong += count_wrong_rows(task.sizes.back());
            if (prints) base::say(to_text(task, task.sizes.back()));
            std::fflush(stdout);
        }
    }
    if (world.rank() == 0 && job.options.json) base::put_json(to_json(report));
    return static_cast<int>(report.wrong > 0 ? base::ExitCode::verification_failed : base::ExitCode::done);
}

} // namespace

int measure(std::function<Job()> const& prepare, std::chrono::nanoseconds patience) {
    World world(patience);
    auto const prepared = prepare_together(world, [&] {
        auto const job = prepare();
        check(job, world.size());
        return to_json(job);
    });
    if (prepared.code != 0) return prepared.code;
    return run_together(world, [&] { return measure_job(world, job_from(prepared.json)); });
}

} // namespace espalier::cluster::collectives
