#include "espalier/analysis/scaling/replay.hpp"
#include "espalier/base/error.hpp"
#include "espalier/cluster/simulation.hpp"
#include "traces.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

using namespace espalier;
using namespace espalier::analysis;
using namespace espalier::analysis::scaling;
using base::Policy;

namespace {

/// Messages that take no time.
ScalingOptions instant(std::vector<int> nodes) {
    ScalingOptions options{.nodes = std::move(nodes), .latency_ns = 0, .master_ns = 0};
    return options;
}

Replay replay_of(std::vector<trace::Event> const& events) {
    ForestBuilder builder;
    builder.add(0, events);
    return {.forest = builder.build()};
}

std::int64_t useful_ns(Replay const& replay, Policy policy, int ranks) {
    cluster::SimulationOptions options{.ranks = ranks, .threads = 2};
    options.cluster.policy = policy;
    return cluster::simulate(*replay_problem(replay), options).useful_ns;
}

bool says(Scaling const& scaling, std::string_view text) {
    return std::ranges::any_of(scaling.remarks,
                               [&](auto const& remark) { return remark.find(text) != std::string::npos; });
}

Prediction at(int nodes, double makespan, double efficiency = 1) {
    return {.nodes = nodes, .makespan = makespan, .efficiency = efficiency};
}

} // namespace

TEST(Scaling, one_worker_takes_as_long_as_the_work) {
    TracedRun const run(fan(60, 50 * ms));

    auto const scaling = run.predict(instant({1}));

    EXPECT_NEAR(scaling.work_seconds, 3.0, 1e-5);
    EXPECT_NEAR(scaling.predictions[0].makespan, 3.0, 0.01);
    EXPECT_NEAR(scaling.predictions[0].speedup, 1, 0.01);
    EXPECT_EQ(scaling.subtrees, 61);
}

TEST(Scaling, equal_independent_chunks_take_their_number_over_the_workers) {
    TracedRun const run(fan(60, 50 * ms));

    auto const scaling = run.predict(instant({1, 2, 3, 4, 5, 6}));

    for (auto const& prediction : scaling.predictions) {
        auto const ideal = 0.05 * ((60 + prediction.nodes - 1) / prediction.nodes);
        EXPECT_GE(prediction.makespan, ideal);
        EXPECT_LE(prediction.makespan, ideal + 0.06) << prediction.nodes; // at most one chunk more, and the messages
    }
}

TEST(Scaling, threads_are_workers_too) {
    TracedRun const run(fan(64, 50 * ms));
    auto options = instant({1});
    options.threads = 8;

    auto const scaling = run.predict(options);

    EXPECT_NEAR(scaling.predictions[0].makespan, 64 * 0.05 / 8, 0.005);
    EXPECT_NEAR(scaling.predictions[0].efficiency, 1, 0.02);
}

TEST(Scaling, a_chain_gains_nothing) {
    TracedRun const run(chain(50, 20 * ms));

    auto const scaling = run.predict(instant({1, 4, 16}));

    EXPECT_NEAR(scaling.critical_path, 1, 1e-9);
    for (auto const& prediction : scaling.predictions) EXPECT_NEAR(prediction.makespan, 1, 0.02);
    ASSERT_EQ(scaling.limits.size(), 1);
    EXPECT_EQ(scaling.limits[0].nodes, 1);
    EXPECT_TRUE(says(scaling, "little parallelism"));
}

TEST(Scaling, one_heavy_subtree_stays_whole_with_static_and_is_shared_with_hybrid) {
    // 32 subtrees below the root, of which one has 400 of the 431 chunks: four workers at 8 subtrees each are dealt
    // them.
    std::vector<trace::Event> events{chunk(1, 0, 1'000)};
    for (std::uint64_t i = 2; i <= 33; ++i) events.push_back(chunk(i, 1, 10 * ms));
    for (std::uint64_t i = 34; i <= 432; ++i) events.push_back(chunk(i, 2, 10 * ms));
    TracedRun const run(packed(events));
    auto options = instant({4});
    options.policies = {Policy::fixed, Policy::hybrid};

    auto const scaling = run.predict(options);

    EXPECT_GE(scaling.predictions[0].makespan, 4.0);
    EXPECT_LE(scaling.predictions[1].makespan, 4.31 / 4 * 1.2);
}

TEST(Scaling, all_measured_work_is_replayed_under_every_policy) {
    auto events = fan(30, 5 * ms);
    for (std::uint64_t i = 0; i < 300; ++i)
        events.push_back(chunk(100 + i, 2 + i % 40, 1 * ms + static_cast<std::int64_t>(i)));
    auto const replay = replay_of(packed(events));
    for (auto const policy : {Policy::fixed, Policy::omp_dynamic, Policy::hybrid})
        for (auto const ranks : {1, 3, 17}) EXPECT_EQ(useful_ns(replay, policy, ranks), replay.forest.total_ns());
}

TEST(Scaling, shared_cores_slow_everybody_down) {
    TracedRun const run(fan(64, 50 * ms));
    auto options = instant({1, 2, 4});
    options.shared_cores = 2;

    auto const scaling = run.predict(options);

    EXPECT_NEAR(scaling.predictions[0].makespan, 3.2, 0.01);
    EXPECT_NEAR(scaling.predictions[1].makespan, 1.6, 0.1);
    EXPECT_NEAR(scaling.predictions[2].makespan, 1.6, 0.2);
    EXPECT_NEAR(scaling.predictions[2].efficiency, 1, 0.12);
}

TEST(Scaling, ten_times_the_work_is_drawn_from_the_measured_subtrees) {
    auto events = fan(0, 0);
    for (std::uint64_t i = 2; i <= 1'001; ++i) events.push_back(chunk(i, 1, i % 2 == 0 ? 1 * ms : 3 * ms));
    TracedRun const run(packed(events));
    auto options = instant({4});
    options.work = 10;

    auto const scaling = run.predict(options);

    // 2 s measured; 10,000 draws of 1 or 3 ms have a standard deviation of 0.1 s in 20 s
    auto const& prediction = scaling.predictions[0];
    EXPECT_NEAR(scaling.work_seconds, 20, 1e-3);
    EXPECT_NEAR(prediction.makespan * prediction.speedup, 20, 0.5); // five of them
    EXPECT_NEAR(prediction.makespan, 5, 0.2);
    EXPECT_TRUE(says(scaling, "resampled: x10 "));
}

TEST(Scaling, every_subtree_is_drawn_about_equally_often) {
    auto replay = replay_of(fan(9, 1 * ms));
    replay.forest = cut(replay.forest, 0);
    ASSERT_EQ(replay.forest.roots, 10);

    std::map<std::uint32_t, int> drawn;
    for (std::uint64_t i = 0; i < 100'000; ++i) ++drawn[replay.sample(i)];

    for (std::uint32_t i = 0; i < 10; ++i) EXPECT_NEAR(drawn[i], 10'000, 500); // five standard deviations
}

TEST(Scaling, a_seed_gives_the_same_numbers_and_another_seed_others) {
    auto events = fan(0, 0);
    for (std::uint64_t i = 2; i <= 501; ++i) events.push_back(chunk(i, 1, static_cast<std::int64_t>(i) * 10'007));
    TracedRun const run(packed(events));
    auto options = instant({1, 3, 300});
    options.work = 2.5;
    options.policies = {Policy::fixed, Policy::omp_dynamic, Policy::hybrid};
    auto const told = [&](std::uint64_t seed) {
        options.seed = seed;
        auto json = to_json(run.predict(options));
        for (auto& prediction : json["predictions"]) prediction.erase("host_seconds");
        return json.dump();
    };

    EXPECT_EQ(told(1), told(1));
    EXPECT_NE(told(1), told(2));
}

TEST(Scaling, work_is_joined_where_there_would_be_too_much_to_simulate) {
    TracedRun const run(fan(1'000, 1 * ms));
    auto options = instant({2});
    options.work = 100'000; // 1e8 chunks

    auto const scaling = run.predict(options);

    auto const& prediction = scaling.predictions[0];
    EXPECT_GT(prediction.grain, 0);
    EXPECT_NEAR(prediction.makespan * prediction.speedup, 100'000, 1'000);
    EXPECT_NEAR(prediction.efficiency, 1, 0.02);
    EXPECT_TRUE(says(scaling, "simulated as one piece"));
}

TEST(Scaling, samples_smaller_than_the_grain_are_bundled) {
    TracedRun const run({chunk(1, 0, 1 * ms)});
    auto options = instant({2});
    options.work = 20'000'000;

    auto const scaling = run.predict(options);

    EXPECT_NEAR(scaling.predictions[0].makespan * scaling.predictions[0].speedup, 20'000, 200);
}

TEST(Scaling, auto_work_gives_every_worker_of_the_largest_system_two_seconds) {
    TracedRun const run(fan(1'000, 1 * ms));
    auto options = instant({1, 10});
    options.work = 0;

    EXPECT_EQ(run.predict(options).work, 20);
}

TEST(Scaling, auto_work_of_a_large_system_is_bounded_so_that_its_simulation_ends_soon) {
    TracedRun const run(fan(1'000, 1 * ms));
    auto options = instant({4'096});
    options.policies = {Policy::fixed};
    options.work = 0;

    EXPECT_EQ(run.predict(options).work, 1'024); // a quarter of a second each
}

TEST(Scaling, more_nodes_help_while_they_gain_a_tenth_of_the_ideal_over_the_best_of_fewer) {
    // 1 -> 2 gains 4 of 5, 2 -> 4 gains 1 of 3, 4 -> 8 gains 0.1 of 2.5
    EXPECT_EQ(limit_of({at(1, 10), at(2, 6), at(4, 5), at(8, 4.9)}), 4);
    EXPECT_EQ(limit_of({at(8, 4.9), at(4, 5), at(2, 6), at(1, 10)}), 4);
    EXPECT_EQ(limit_of({at(1, 10), at(2, 6), at(4, 5), at(8, 4)}), std::nullopt);
    EXPECT_EQ(limit_of({at(1, 10), at(2, 10), at(4, 5)}), std::nullopt); // a later step helps
    EXPECT_EQ(limit_of({at(1, 10), at(2, 10), at(4, 11)}), 1);
}

TEST(Scaling, a_curve_that_goes_up_and_comes_down_again_is_measured_by_its_best) {
    EXPECT_EQ(limit_of({at(1, 100), at(2, 59), at(16, 300), at(256, 161)}), 2);
    EXPECT_EQ(limit_of({at(1, 100), at(2, 59), at(16, 300), at(256, 58)}), 2); // 1 of 58.5
    EXPECT_EQ(limit_of({at(1, 100), at(2, 59), at(16, 300), at(256, 30)}), std::nullopt);
}

TEST(Scaling, a_master_that_only_passes_on_messages_is_told) {
    TracedRun const run(fan(500, 1 * ms));
    auto options = instant({64});
    EXPECT_FALSE(says(run.predict(options), "rank 0 passes on messages"));
    options.master_ns = 1 * ms;

    EXPECT_TRUE(says(run.predict(options), "rank 0 passes on messages"));
}

TEST(Scaling, one_number_of_nodes_is_no_comparison) {
    TracedRun const run(fan(60, 50 * ms));

    auto const scaling = run.predict(instant({4}));

    EXPECT_EQ(scaling.limits[0].nodes, std::nullopt);
    EXPECT_NE(to_text(scaling).find("nothing can be compared"), std::string::npos);
    EXPECT_TRUE(to_json(scaling)["limits"][0]["nodes"].is_null());
}

TEST(Scaling, resampled_work_also_says_from_where_on_half_of_the_time_is_lost) {
    EXPECT_EQ(half_of({at(1, 1, 0.9), at(2, 1, 0.49), at(4, 1, 0.2)}), 2);
    EXPECT_EQ(half_of({at(1, 1, 0.9), at(2, 1, 0.4), at(4, 1, 0.6)}), std::nullopt);
    EXPECT_EQ(half_of({at(1, 1, 0.4)}), 1);

    TracedRun const run(fan(4, 1 * ms));
    auto options = instant({1, 64, 128});
    options.work = 2;
    auto const text = to_text(run.predict(options));

    EXPECT_NE(text.find("more do not help; from 64 nodes on less than half"), std::string::npos) << text;
}

TEST(Scaling, the_most_nodes_at_or_above_the_target_are_recommended) {
    std::vector const predictions{at(1, 3600, 1), at(16, 300, 0.75), at(64, 75, 0.75), at(256, 50, 0.28)};

    EXPECT_EQ(recommended(predictions, 0.8)->nodes, 1);
    EXPECT_EQ(recommended(predictions, 0.75)->nodes, 64);
    EXPECT_DOUBLE_EQ(recommended(predictions, 0.75)->node_hours(), 64 * 75 / 3600.0);
    EXPECT_FALSE(recommended({at(4, 1, 0.79)}, 0.8));
}

TEST(Scaling, a_search_that_does_not_scale_is_not_sent_to_more_nodes) {
    TracedRun const run(fan(100, 1 * ms));
    auto options = instant({1, 4, 65536});
    options.target_efficiency = 0.5;

    auto const scaling = run.predict(options);
    auto const text = to_text(scaling);
    auto const limit = to_json(scaling)["limits"][0];

    EXPECT_LT(scaling.predictions.back().efficiency, 0.01);
    EXPECT_NE(text.find("hybrid: use up to 4 nodes, the most at or above 50 % efficiency"), std::string::npos) << text;
    EXPECT_NE(text.find(" node-hours"), std::string::npos) << text;
    EXPECT_EQ(limit["recommended_nodes"], 4);
    EXPECT_DOUBLE_EQ(limit["recommended_node_hours"].get<double>(), 4 * scaling.predictions[1].makespan / 3600);
}

TEST(Scaling, a_duration_gives_every_number_of_nodes_its_own_work) {
    TracedRun const run(fan(60, 50 * ms));
    auto options = instant({1, 256});
    auto const once = run.predict(options);
    options.duration_s = 3600;

    auto const scaling = run.predict(options);

    EXPECT_LT(once.predictions[1].efficiency, 0.5); // 60 chunks for 256
    for (auto const& prediction : scaling.predictions) {
        EXPECT_NEAR(prediction.work, 3600.0 * prediction.nodes / scaling.measured_seconds, 1e-6 * prediction.work);
        EXPECT_GE(prediction.makespan, 3600);
        EXPECT_GT(prediction.efficiency, 0.9) << prediction.nodes;
        EXPECT_LE(prediction.efficiency, 1);
        EXPECT_LT(prediction.simulated, 60); // the rest is extrapolated
    }
    EXPECT_EQ(scaling.limits[0].recommended->nodes, 256);
    EXPECT_TRUE(says(scaling, "only the first seconds were simulated"));
}

TEST(Scaling, a_short_duration_is_simulated_to_its_end) {
    TracedRun const run(fan(60, 50 * ms));
    auto options = instant({4});
    options.duration_s = 1.5;

    auto const prediction = run.predict(options).predictions[0];

    EXPECT_DOUBLE_EQ(prediction.simulated, prediction.makespan);
    EXPECT_NEAR(prediction.efficiency * prediction.makespan, 1.5, 0.05);
}

TEST(Scaling, a_slow_network_is_felt) {
    TracedRun const run(fan(500, 1 * ms));
    auto options = instant({16});
    auto const quick = run.predict(options).predictions[0];
    options.ns_per_byte = 1e4;

    EXPECT_GT(run.predict(options).predictions[0].makespan, 1.5 * quick.makespan);
}

/// A chunk of many small subtrees: a rank that gets one of them is hungry again at once.
TEST(Scaling, small_subtrees_cost_messages) {
    auto events = fan(200, 1 * ms);
    auto const whole = TracedRun(events).predict(instant({4})).predictions[0];
    for (auto& event : events) event.roots = event.useful_ns >= 1 * ms ? 50 : 1;

    auto const small = TracedRun(events).predict(instant({4})).predictions[0];

    EXPECT_GT(small.messages, 2 * whole.messages);
    EXPECT_NEAR(small.speedup * small.makespan, whole.speedup * whole.makespan, 1e-6);
}

TEST(Scaling, a_trace_without_chunks_is_refused) {
    auto event = chunk(1, 0, 1 * ms);
    event.kind = trace::Kind::wait;
    TracedRun const run({event});

    EXPECT_THROW(static_cast<void>(run.predict(instant({1}))), base::InputError);
}

TEST(Scaling, numbers_out_of_range_are_refused) {
    TracedRun const run(fan(3, 1 * ms));

    EXPECT_THROW(static_cast<void>(run.predict(instant({0}))), base::InputError);
    EXPECT_THROW(static_cast<void>(run.predict(instant({2'000'000}))), base::InputError);
    EXPECT_THROW(static_cast<void>(run.predict(instant({}))), base::InputError);
}

TEST(Scaling, the_text_has_a_row_for_every_prediction_and_a_sentence_for_every_policy) {
    TracedRun const run(chain(50, 20 * ms));
    auto options = instant({1, 16});
    options.policies = {Policy::fixed, Policy::hybrid};

    auto const text = to_text(run.predict(options));

    EXPECT_NE(text.find("50 chunks, 1.0 s of work, longest chain 1.0 s"), std::string::npos) << text;
    EXPECT_NE(text.find("hybrid: beyond 1 node more do not help (longest chain 1.0 s)"), std::string::npos) << text;
    EXPECT_NE(text.find("static:"), std::string::npos);
    EXPECT_NE(text.find("hybrid: use up to 1 node, the most at or above 80 % efficiency"), std::string::npos) << text;
    // efficiency and master load; target and efficiency of what is recommended; and one remark
    EXPECT_EQ(std::ranges::count(text, '%'), 2 * 2 * 2 + 2 * 2 + 1);
}
