#pragma once

#include "espalier/base/hash.hpp"
#include "espalier/base/system.hpp"
#include "espalier/search/problem.hpp"

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

namespace espalier::toys {

/// What happened in a Timed search, over all its threads and ranks in this process.
struct Stopwatch {
    std::atomic<int> working{0};   ///< threads inside assess
    std::atomic<int> measuring{0}; ///< inside measure
    std::atomic<int> disturbed{0}; ///< measurements that were not alone
    std::atomic<int> readings{0};
    std::mutex mutex;
    std::map<std::uint64_t, int> times; ///< how often each key was measured

    [[nodiscard]] std::map<std::uint64_t, int> all_times() {
        std::lock_guard const lock(mutex);
        return times;
    }
};

/// Leaves of a full tree are candidates and fall into `keys` equal ones, each of which is measured. No two measurements
/// read the same, so that what is stored tells which one counted.
struct Timed {
    struct Options {
        int levels = 6; ///< two children a node
        std::uint64_t keys = 7;
        std::int64_t measure_ns = 2'000'000;
        std::int64_t node_ns = 50'000;
    };
    Options options;
    std::shared_ptr<Stopwatch> watch = std::make_shared<Stopwatch>(); ///< shared by the test and all copies

    struct Node {
        std::uint32_t id = 1;
        std::int32_t depth = 0;

        bool operator==(Node const&) const = default;
    };
    using Result = std::uint64_t;
    struct Workspace {
        search::Notes* notes;
    };

    search::ProblemInfo info() const { return {.kind = "timed", .reasons = {}, .counters = {}}; }
    std::vector<Node> roots() const { return {Node{}}; }
    Workspace make_workspace(search::Notes& notes) const { return {&notes}; }
    search::Assessment assess(Node const& node, Workspace&) const {
        ++watch->working;
        if (watch->measuring.load() > 0) ++watch->disturbed;
        for (auto const end = base::steady_ns() + options.node_ns; base::steady_ns() < end;) {}
        --watch->working;
        return node.depth + 1 == options.levels ? search::is_candidate() : search::expand_it();
    }
    void expand(Node const& node, Workspace&, search::Children<Node>& children) const {
        auto const parent = node; // pushing may move the stack that holds it
        children.push({2 * parent.id, parent.depth + 1});
        children.push({2 * parent.id + 1, parent.depth + 1});
    }
    std::vector<search::VerifyOutcome<Result>> verify(std::span<Node const> nodes, Workspace&) const {
        std::vector<search::VerifyOutcome<Result>> outcomes(nodes.size());
        for (std::size_t i = 0; i < nodes.size(); ++i) outcomes[i].result = nodes[i].id % options.keys;
        return outcomes;
    }
    search::ResultRecord record(Result key) const {
        return {.key = key, .cost = -1, .text = "estimated", .payload = {}};
    }
    search::ResultRecord measure(search::ResultRecord const& record, Workspace& workspace) const {
        struct Inside {
            std::atomic<int>& count;
            ~Inside() { --count; }
        } const inside{watch->measuring};
        if (++watch->measuring > 1 || watch->working.load() > 0) ++watch->disturbed;
        for (auto const end = base::steady_ns() + options.measure_ns; base::steady_ns() < end;) {
            workspace.notes->stop().check();
            std::this_thread::sleep_for(std::chrono::microseconds(200));
        }
        std::lock_guard const lock(watch->mutex);
        ++watch->times[record.key];
        auto measured = record;
        measured.cost = ++watch->readings;
        measured.text = "measured";
        return measured;
    }

    std::int32_t depth(Node const& node) const { return node.depth; }
    void pack(Node const& node, base::Bytes& out) const {
        base::ByteWriter writer(out);
        writer.put(node.id);
        writer.put(node.depth);
    }
    Node unpack(std::span<std::byte const> bytes) const {
        base::ByteReader reader(bytes);
        auto const id = reader.get<std::uint32_t>();
        return {id, reader.get<std::int32_t>()};
    }
};
static_assert(search::SearchProblem<Timed> && search::Measures<Timed>);

} // namespace espalier::toys
