#include "samples.hpp"

#include "espalier/base/json.hpp"

#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <set>

namespace espalier::analysis::exports::testing {
namespace {

using base::Json;
using ::testing::ElementsAre;

struct Slice {
    std::string name;
    double from = 0, to = 0;
    int depth = 0;
    bool operator==(Slice const&) const = default;
};

/// Reads the Trace Event Format as a viewer does: one stack per thread, flows bound to the slice that is open.
struct Viewer {
    explicit Viewer(std::filesystem::path const& file) {
        auto const json = Json::parse(store::read_text(file));
        for (auto const& event : json.at("traceEvents")) take(event);
        for (auto const& [track, open] : stacks)
            if (!open.empty()) fault = "a slice stays open";
    }

    void take(Json const& event) {
        auto const phase = event.at("ph").get<std::string>();
        std::pair const track(event.at("pid").get<int>(), event.at("tid").get<int>());
        if (phase == "M") {
            if (event.at("name") == "process_name") processes[track.first] = event.at("args").at("name");
            if (event.at("name") == "thread_name") threads[track] = event.at("args").at("name");
            return;
        }
        auto const time = event.at("ts").get<double>();
        if (time < now[track]) fault = "time runs backwards";
        now[track] = time;
        auto& open = stacks[track];
        if (phase == "B") {
            open.push_back(slices[track].size());
            slices[track].push_back({event.at("name"), time, time, static_cast<int>(open.size()) - 1});
        } else if (open.empty()) {
            fault = "a step outside any slice";
        } else if (phase == "E") {
            slices[track][open.back()].to = time;
            open.pop_back();
        } else if (phase == "s" || phase == "f") {
            auto const& name = slices[track][open.back()].name;
            if (name != (phase == "s" ? "send" : "receive")) fault = "a flow in a wrong slice";
            if (phase == "f" && event.at("bp") != "e") fault = "a flow that binds to the next slice";
            auto& ends = phase == "s" ? starts : finishes;
            if (!ends.emplace(event.at("id").get<std::string>(), track.first).second) fault = "a flow twice";
        } else {
            fault = "an unknown phase";
        }
    }

    std::map<int, std::string> processes;
    std::map<std::pair<int, int>, std::string> threads;
    std::map<std::pair<int, int>, std::vector<Slice>> slices;
    std::map<std::string, int> starts, finishes; ///< rank by flow
    std::map<std::pair<int, int>, std::vector<std::size_t>> stacks;
    std::map<std::pair<int, int>, double> now;
    std::string fault;
};

TEST(Chrome, shows_ranks_threads_spans_and_messages) {
    TemporaryFolder folder;
    auto source = make_run(folder.path() / "run", duo());

    auto const written = write(source, {}, "chrome", folder.path() / "trace.json");
    Viewer const viewer(written.open);

    EXPECT_EQ(written.events, 18u);
    EXPECT_EQ(written.messages, 2u);
    EXPECT_EQ(viewer.fault, "");
    EXPECT_THAT(viewer.processes, ElementsAre(std::pair(0, "rank 0 (alpha)"), std::pair(1, "rank 1 (beta)")));
    EXPECT_EQ(viewer.threads.size(), 6u);
    EXPECT_EQ(viewer.threads.at({1, 0}), "communication");
    EXPECT_EQ(viewer.threads.at({0, 2}), "worker 2");
    EXPECT_THAT(viewer.slices.at({0, 1}), ElementsAre(Slice{"expand", 0, 10, 0}, Slice{"query", 2, 5, 1},
                                                      Slice{"query", 6, 7, 1}, Slice{"wait", 10, 15, 0}));
    EXPECT_THAT(viewer.slices.at({1, 0}),
                ElementsAre(Slice{"receive", 2, 2.1, 0}, Slice{"send", 3, 3.05, 0}, Slice{"write", 9, 9, 0}));
    EXPECT_THAT(viewer.slices.at({1, 1}),
                ElementsAre(Slice{"expand", 0, 6, 0}, Slice{"wait", 6, 8, 0}, Slice{"expand", 8, 8.7, 0}));
}

TEST(Chrome, a_flow_leads_from_the_sender_to_the_receiver) {
    TemporaryFolder folder;
    auto source = make_run(folder.path() / "run", duo());

    Viewer const viewer(write(source, {}, "chrome", folder.path() / "trace.json").open);

    ASSERT_EQ(viewer.starts.size(), 2u);
    std::set<std::pair<int, int>> ways;
    for (auto const& [flow, sender] : viewer.starts) ways.emplace(sender, viewer.finishes.at(flow));
    EXPECT_THAT(ways, ElementsAre(std::pair(0, 1), std::pair(1, 0)));
    EXPECT_EQ(viewer.finishes.size(), 2u);
}

TEST(Chrome, details_stand_beside_the_spans) {
    TemporaryFolder folder;
    auto source = make_run(folder.path() / "run", duo());

    auto const json = Json::parse(store::read_text(write(source, {}, "chrome", folder.path() / "t").open));

    std::vector<Json> details;
    for (auto const& event : json.at("traceEvents"))
        if (event.at("ph") == "B" && event.at("name") == "expand") details.push_back(event.at("args"));
    ASSERT_EQ(details.size(), 3u);
    EXPECT_EQ(details[0], (Json{{"nodes", 10}, {"prunes", 4}, {"depth", 2}, {"useful_us", 8}}));
    EXPECT_EQ(details[1], (Json{{"nodes", 30}, {"prunes", 12}, {"depth", 5}, {"useful_us", 5}, {"merged", 3}}));
}

TEST(Chrome, a_window_cuts_spans_and_the_arrows_that_leave_it) {
    TemporaryFolder folder;
    auto source = make_run(folder.path() / "run", duo());

    auto const written = write(source, {4000, 8000}, "chrome", folder.path() / "trace.json");
    Viewer const viewer(written.open);

    EXPECT_EQ(viewer.fault, "");
    EXPECT_EQ(written.messages, 0u); // one was sent before the window, one lies before it
    EXPECT_TRUE(viewer.starts.empty() && viewer.finishes.empty());
    EXPECT_THAT(viewer.slices.at({0, 1}),
                ElementsAre(Slice{"expand", 4, 8, 0}, Slice{"query", 4, 5, 1}, Slice{"query", 6, 7, 1}));
    EXPECT_EQ(viewer.slices.count({1, 0}), 0u);
}

TEST(Chrome, a_host_of_any_name_is_valid_json) {
    TemporaryFolder folder;
    auto ranks = duo();
    ranks[0].host = "a\"\\\n\xff";
    auto source = make_run(folder.path() / "run", ranks);

    Viewer const viewer(write(source, {}, "chrome", folder.path() / "trace.json").open);

    EXPECT_EQ(viewer.processes.at(0), "rank 0 (a\"\\\n\xef\xbf\xbd)");
}

TEST(Chrome, events_of_threads_that_the_rank_does_not_have_are_left_out) {
    TemporaryFolder folder;
    auto ranks = duo();
    ranks[0].events.push_back({.start_ns = 5, .duration_ns = 5, .thread = 3});
    auto source = make_run(folder.path() / "run", ranks);

    auto const written = write(source, {}, "chrome", folder.path() / "trace.json");
    Viewer const viewer(written.open);

    EXPECT_EQ(written.events, 18u);
    EXPECT_EQ(viewer.slices.count({0, 3}), 0u);
}

RC_GTEST_PROP(Chrome, any_trace_nests_and_its_flows_are_whole, ()) {
    std::mt19937_64 random(*rc::gen::arbitrary<std::uint64_t>());
    auto const ranks = *rc::gen::inRange(1, 4);
    std::vector<Rank> run;
    std::size_t total = 0;
    for (int rank = 0; rank < ranks; ++rank) {
        auto const count = *rc::gen::inRange<std::size_t>(1, 60);
        run.push_back({"host", rank * 100, any_events(random, count, 2, ranks)});
        total += count;
    }
    TemporaryFolder folder;
    auto source = make_run(folder.path() / "run", run);

    auto const written = write(source, {}, "chrome", folder.path() / "trace.json");
    Viewer const viewer(written.open);

    RC_ASSERT(viewer.fault == "");
    RC_ASSERT(viewer.processes.size() == static_cast<std::size_t>(ranks));
    std::size_t slices = 0;
    for (auto const& [track, list] : viewer.slices) slices += list.size();
    RC_ASSERT(slices == total);
    RC_ASSERT(written.events == total);
    RC_ASSERT(viewer.starts.size() == viewer.finishes.size());
    RC_ASSERT(viewer.finishes.size() == written.messages);
    for (auto const& [flow, rank] : viewer.starts) RC_ASSERT(viewer.finishes.contains(flow));
}

} // namespace
} // namespace espalier::analysis::exports::testing
