#pragma once

#include "espalier/base/bytes.hpp"
#include "espalier/base/error.hpp"
#include "espalier/base/system.hpp"
#include "espalier/search/problem.hpp"

#include <chrono>
#include <thread>
#include <vector>

namespace espalier::toys {

/// Numbers from 1 to `count` are measured: each costs its double. What was measured is told to the second stage, whose
/// only result is their sum.
struct Summed {
    std::uint32_t count = 10;
    std::int64_t measure_ns = 0; ///< how long each takes

    struct Node {
        bool is_sum = false;
        std::uint32_t number = 0;

        bool operator==(Node const&) const = default;
    };
    using Result = Node;
    struct Workspace {
        search::Notes* notes;
    };

    search::ProblemInfo info() const { return {.kind = "summed", .reasons = {}, .counters = {}, .stages = 2}; }
    std::vector<Node> roots() const {
        std::vector<Node> out;
        for (std::uint32_t i = 1; i <= count; ++i) out.push_back({false, i});
        return out;
    }
    Workspace make_workspace(search::Notes& notes) const { return {&notes}; }
    search::Assessment assess(Node const&, Workspace&) const { return search::is_candidate(); }
    void expand(Node const&, Workspace&, search::Children<Node>&) const {}
    std::vector<search::VerifyOutcome<Result>> verify(std::span<Node const> nodes, Workspace&) const {
        std::vector<search::VerifyOutcome<Result>> out;
        for (auto const& node : nodes) out.push_back({node});
        return out;
    }
    search::ResultRecord record(Result const& result) const {
        return {.key = result.is_sum ? 1'000'000 + result.number : result.number,
                .cost = static_cast<double>(result.number),
                .text = "estimated",
                .payload = {}};
    }
    search::ResultRecord measure(search::ResultRecord const& record, Workspace& workspace) const {
        for (auto const end = base::steady_ns() + measure_ns; base::steady_ns() < end;) {
            workspace.notes->stop().check();
            std::this_thread::sleep_for(std::chrono::microseconds(200));
        }
        auto out = record;
        if (record.key < 1'000'000) out.cost *= 2;
        out.text = "measured";
        return out;
    }
    void measured(search::ResultRecord const& record, Workspace& workspace) const {
        if (record.key >= 1'000'000) return;
        base::Bytes bytes;
        base::ByteWriter(bytes).put(static_cast<std::uint32_t>(record.cost));
        workspace.notes->emit(record.key, std::move(bytes));
    }
    std::vector<Node> next_stage(int stage, std::vector<search::EmitGroup> const& groups) const {
        if (stage > 0) return {};
        Node sum{true, 0};
        for (auto const& group : groups)
            for (auto const& value : group.values) sum.number += base::ByteReader(value).get<std::uint32_t>();
        return {sum};
    }

    std::int32_t depth(Node const&) const { return 0; }
    void pack(Node const& node, base::Bytes& out) const {
        base::ByteWriter writer(out);
        writer.put(node.is_sum);
        writer.put(node.number);
    }
    Node unpack(std::span<std::byte const> bytes) const {
        base::ByteReader reader(bytes);
        auto const is_sum = reader.get<bool>();
        return {is_sum, reader.get<std::uint32_t>()};
    }
};
static_assert(search::TellsMeasured<Summed> && search::Staged<Summed>);

} // namespace espalier::toys
