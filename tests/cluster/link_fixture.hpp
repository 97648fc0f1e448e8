#pragma once

#include "espalier/cluster/link.hpp"

#include "espalier/base/log.hpp"
#include "support/fake_pool.hpp"

#include <gtest/gtest.h>

/// What tests of a link share.
namespace espalier::cluster {

inline constexpr std::int64_t ms = 1'000'000;
inline constexpr std::int64_t second = 1'000'000'000;

/// A link, its pool, and what it says to its master.
struct LinkTest : testing::Test {
    LinkTest() { base::log::configure({.level = base::log::Level::quiet}); }

    void hear(Body body, std::int64_t now, double incumbent = search::no_incumbent) {
        link.on_message({{.incumbent = incumbent}, std::move(body)}, now);
    }
    /// Welcomed, fed with a batch of four and busy with it; what was said so far is forgotten.
    void work() {
        link.start(0);
        hear(Welcome{.epoch = 1}, 0);
        hear(Batch{.epoch = 1, .number = 1, .budget_ns = 200 * ms, .roots = toys::nodes(4)}, 0);
        pool.now = {.unfinished = 40, .spare = 30, .nodes = 100, .results = 3, .threads = 2, .is_dry = false};
        (void)link.take_outgoing();
    }
    template <class T>
    std::vector<T> said() {
        std::vector<T> bodies;
        for (auto& outgoing : link.take_outgoing())
            if (auto* body = std::get_if<T>(&outgoing.message.body)) bodies.push_back(std::move(*body));
        return bodies;
    }
    toys::FakePool pool;
    Link link{pool, {.self = base::Rank{3}, .master = base::Rank{0}, .host = "here"}};
};

} // namespace espalier::cluster
