#pragma once

#include "espalier/base/hash.hpp"
#include "espalier/base/system.hpp"
#include "espalier/search/problem.hpp"

#include <array>
#include <thread>

namespace espalier::toys {

/// A full tree with three children a node whose nodes, or whose candidates, take long and ask whether they shall stop.
/// Every leaf is a candidate, and those with an even number are results. What is counted and emitted on the way to a
/// stop must not count.
struct Slow {
    enum class Where { nowhere, roots, assess, expand, verify };
    struct Options {
        int levels = 5;
        std::int64_t node_ns = 0; ///< of a node where it is slow
        Where where = Where::nowhere;
    };
    Options options;

    struct Node {
        std::uint32_t id = 1;
        std::int32_t depth = 0;

        bool operator==(Node const&) const = default;
    };
    using Result = Node;
    struct Workspace {
        search::Notes* notes;
    };
    static constexpr base::ReasonId odd{0};

    search::ProblemInfo info() const {
        return {.kind = "slow", .reasons = {"odd"}, .counters = {{"touched", search::CounterKind::sum}}};
    }
    std::vector<Node> roots(base::StopToken stop = {}) const {
        take_long(Where::roots, stop);
        return {Node{}};
    }
    Workspace make_workspace(search::Notes& notes) const { return {&notes}; }

    search::Assessment assess(Node const& node, Workspace& workspace) const {
        auto const is_leaf = node.depth + 1 == options.levels;
        if (!is_leaf) workspace.notes->add(0);
        take_long(Where::assess, workspace.notes->stop());
        return is_leaf ? search::is_candidate() : search::expand_it();
    }
    void expand(Node const& node, Workspace& workspace, search::Children<Node>& children) const {
        auto const parent = node; // pushing may move the stack that holds it
        for (std::uint32_t i = 0; i < 3; ++i) {
            workspace.notes->add(0);
            children.push({3 * parent.id + i, parent.depth + 1});
            take_long(Where::expand, workspace.notes->stop());
        }
    }
    std::vector<search::VerifyOutcome<Result>> verify(std::span<Node const> nodes, Workspace& workspace) const {
        std::vector<search::VerifyOutcome<Result>> outcomes(nodes.size());
        for (std::size_t i = 0; i < nodes.size(); ++i) {
            workspace.notes->add(0);
            take_long(Where::verify, workspace.notes->stop());
            outcomes[i].reason = odd;
            if (nodes[i].id % 2 == 0) outcomes[i].result = nodes[i];
        }
        return outcomes;
    }
    search::ResultRecord record(Result const& result) const {
        return {.key = base::hash_combine(17, result.id), .text = std::to_string(result.id)};
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

private:
    void take_long(Where here, base::StopToken stop) const {
        if (options.where != here) return;
        for (auto const end = base::steady_ns() + options.node_ns; base::steady_ns() < end;) {
            stop.check();
            std::this_thread::sleep_for(std::chrono::microseconds(100));
        }
    }
};
static_assert(search::SearchProblem<Slow> && search::Verifies<Slow>);

} // namespace espalier::toys
