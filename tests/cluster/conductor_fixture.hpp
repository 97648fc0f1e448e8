#pragma once

#include "espalier/cluster/conductor.hpp"

#include "espalier/base/log.hpp"
#include "master_fixture.hpp"

/// What tests of the conductor share.
namespace espalier::cluster {

using base::Rank;

/// A problem that nobody searches: roots, and what its cut and its second stage give.
class FakeProblem final : public search::AnyProblem {
public:
    explicit FakeProblem(search::ProblemInfo info) : info_(std::move(info)) {}

    [[nodiscard]] search::ProblemInfo const& info() const override { return info_; }
    [[nodiscard]] search::PackedNodes roots(base::StopToken) const override { return nodes(4); }
    [[nodiscard]] search::PackedNodes next_stage(int, std::vector<search::EmitGroup> const& groups,
                                                 base::StopToken) const override {
        asked_with = groups;
        return second_roots;
    }
    [[nodiscard]] search::Seeding seed(search::PackedNodes const& roots, search::SeedRule rule) const override {
        stop = rule.stop;
        if (!cut.results.empty()) return {.done = cut, .subtrees = {}};
        return {.done = {.counts = search::zero_counts(info_)}, .subtrees = roots};
    }
    [[nodiscard]] std::unique_ptr<search::ThreadedPool> make_pool(search::PoolOptions const&) const override {
        return nullptr;
    }
    [[nodiscard]] std::unique_ptr<search::VirtualWorker>
    make_virtual_worker(search::VirtualOptions const&) const override {
        return nullptr;
    }

    search::PackedNodes second_roots;
    search::Harvest cut;
    mutable std::vector<search::EmitGroup> asked_with;
    mutable base::StopToken stop;

private:
    search::ProblemInfo info_;
};

class MemoryJournal final : public Journal {
public:
    void save(RunState const& state) override {
        if (is_full) throw base::SystemError("no space left");
        saved.push_back(state);
    }
    void note(RunState const&) override { ++notes; }
    [[nodiscard]] std::vector<search::EmitRecord> emitted(std::vector<search::EmitMark> const& list) override {
        marks = list;
        return in_shards;
    }
    std::vector<RunState> saved;
    int notes = 0;
    bool is_full = false;
    std::vector<search::EmitMark> marks;
    std::vector<search::EmitRecord> in_shards;
};

inline search::ResultRecord result(std::uint64_t key, double cost = 1) { return {.key = key, .cost = cost}; }

/// A conductor, a master of one member and what the member says.
struct ConductorTest : testing::Test {
    ConductorTest() { base::log::configure({.level = base::log::Level::quiet}); }

    void make(Conductor::Options const& options, search::ProblemInfo const& info = cluster::info()) {
        problem = std::make_unique<FakeProblem>(info);
        master = std::make_unique<Master>(info, Master::Options{.members = {{Rank{1}}}, .lease_ns = 1000 * second}, 0);
        conductor = std::make_unique<Conductor>(*problem, *master, journal, options);
        say(Hello{.threads = 1}, 0);
    }
    void say(Body body, std::int64_t now) {
        master->on_message(Rank{1}, {{}, std::move(body)}, now);
        master->tick(now);
    }
    /// Everything that was sent is received; `kept` of it is left.
    Commit commit(int kept, search::Harvest harvest = {}) const {
        harvest.counts.funnel.resize(problem->info().reasons.size());
        harvest.kept = nodes(kept);
        return {.pulse = {.epoch = 1, .received = 1'000'000, .threads = 1}, .harvest = std::move(harvest)};
    }
    void say_results(std::vector<search::ResultRecord> results, std::int64_t now) {
        say(commit(1, {.results = std::move(results)}), now);
        conductor->tick(now);
    }
    void end(int kept, std::int64_t now) {
        auto last = commit(kept);
        last.is_final = true;
        say(last, now);
        conductor->tick(now);
    }
    std::size_t orders(OrderKind kind) {
        std::size_t count = 0;
        for (auto const& outgoing : master->take_outgoing())
            if (auto const* order = std::get_if<Order>(&outgoing.message.body)) count += order->kind == kind;
        return count;
    }
    /// A hungry member gets all there is.
    void feed(std::int64_t now) {
        for (int i = 0; i < 9 && master->queued() > 0; ++i)
            say(Pulse{.epoch = 1, .received = fed++, .threads = 1, .idle_threads = 1, .hunger = Hunger::idle}, now);
    }
    std::uint64_t fed = 0;
    MemoryJournal journal;
    std::unique_ptr<FakeProblem> problem;
    std::unique_ptr<Master> master;
    std::unique_ptr<Conductor> conductor;
};

} // namespace espalier::cluster
