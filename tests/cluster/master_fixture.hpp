#pragma once

#include "espalier/cluster/master.hpp"

#include <gtest/gtest.h>

/// What tests of the master share.
namespace espalier::cluster {

inline constexpr std::int64_t second = 1'000'000'000;

inline search::ProblemInfo info() { return {.kind = "test", .reasons = {"leaf"}}; }

inline search::PackedNodes nodes(int n) {
    search::PackedNodes list(static_cast<std::size_t>(n));
    for (int i = 0; i < n; ++i) list[static_cast<std::size_t>(i)].bytes = {std::byte(i)};
    return list;
}

/// A master with two members, and what it says to them.
struct MasterTest : testing::Test {
    MasterTest() : master(info(), {.members = {{base::Rank{0}}, {base::Rank{1}}}, .lease_ns = second}, 0) {}

    void say(int rank, Body body, std::int64_t now = 0) {
        master.on_message(base::Rank{rank}, {{}, std::move(body)}, now);
        master.tick(now);
    }
    void hello(int rank, std::int64_t now = 0) { say(rank, Hello{.threads = 1}, now); }
    Commit commit(std::uint32_t epoch, std::uint64_t received, std::uint64_t done, search::PackedNodes kept,
                  search::PackedNodes given = {}) {
        return {.pulse = {.epoch = epoch, .received = received, .unfinished = kept.size(), .threads = 1},
                .harvest = {
                    .counts = {.nodes = done, .funnel = {done}}, .kept = std::move(kept), .given = std::move(given)}};
    }
    template <class T>
    std::vector<T> said_to(int rank) {
        std::vector<T> bodies;
        for (auto const& outgoing : master.take_outgoing())
            if (outgoing.to == base::Rank{rank} && std::holds_alternative<T>(outgoing.message.body))
                bodies.push_back(std::get<T>(outgoing.message.body));
        return bodies;
    }
    Master master;
};

} // namespace espalier::cluster
