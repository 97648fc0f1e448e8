#include "espalier/problems/mugraph/kind.hpp"
#include "espalier/problems/mugraph/listing.hpp"

#include "espalier/base/error.hpp"
#include "espalier/cost/roofline.hpp"
#include "programs.hpp"

#include <gmock/gmock.h>

#include <cmath>

/// Stored results: their order, what is told of them, and what a second check may say.
namespace espalier::problems::mugraph {
namespace {

using testing::HasSubstr;

search::ResultRecord record_of(program::Graph const& graph, search::Verification verification) {
    search::ResultRecord out;
    out.key = program::canonical_key(graph);
    out.text = program::to_text(graph);
    out.verification = verification;
    out.cost = 5;
    std::string const details = R"({"scope": "full", "sampled_elements": 4, "form": 1, "tested_error_bound": 0})";
    auto const bytes = std::as_bytes(std::span(details));
    out.payload.assign(bytes.begin(), bytes.end());
    return out;
}

/// O = f(x), of 4 x 8 elements or more.
MugraphConfig of(std::vector<program::SourceOp> ops, std::int64_t columns = 8) {
    MugraphConfig config;
    config.program.dims = {{"B", 4}, {"K", columns}};
    config.program.inputs = {{"X", {"B", "K"}}, {"Z", {"B", "K"}}};
    config.program.ops = std::move(ops);
    config.program.outputs = {"O"};
    return config;
}
MugraphConfig product_of_roots() {
    return of({{{"x"}, "sqrt", {"X"}, {}}, {{"z"}, "sqrt", {"Z"}, {}}, {{"O"}, "mul", {"x", "z"}, {}}});
}
MugraphConfig root_of_product() { return of({{{"p"}, "mul", {"X", "Z"}, {}}, {{"O"}, "sqrt", {"p"}, {}}}); }
Checked check(MugraphConfig const& config, program::Graph const& candidate, config::VerifyConfig const& options = {}) {
    return verify_again(config, options, record_of(candidate, search::Verification::proved), 7, Scope::sampled);
}

TEST(Recheck, a_text_that_is_not_of_its_key_is_refused) {
    auto const config = product_of_roots();
    auto record = record_of(program::build(config.program), search::Verification::proved);
    EXPECT_TRUE(verify_again(config, {}, record, 7, Scope::sampled).is_equal);
    EXPECT_NO_THROW(check_keys({record}));

    ++record.key;

    EXPECT_FALSE(verify_again(config, {}, record, 7, Scope::sampled).is_equal);
    EXPECT_THROW(check_keys({record}), base::InputError);
}

/// Only a law of roots makes them equal, so a proof is needed; and what may not be proved has no bound.
TEST(Recheck, what_rests_on_a_law_of_roots_needs_its_proof) {
    auto const config = product_of_roots();
    auto const candidate = program::build(root_of_product().program);

    auto const proved = check(config, candidate), unproved = check(config, candidate, {.prove = false});

    EXPECT_TRUE(proved.is_equal && proved.is_proved);
    EXPECT_EQ(proved.error_bound, 1);
    EXPECT_FALSE(unproved.is_equal || unproved.is_proved);
    EXPECT_THAT(unproved.reason, HasSubstr("neither"));

    auto const record = record_of(candidate, search::Verification::random); // whatever it was called
    EXPECT_FALSE(verify_again(config, {.prove = false}, record, 7, Scope::sampled).is_equal);
}

TEST(Recheck, without_proofs_a_bound_is_enough) {
    auto const config = of({{{"O"}, "mul", {"X", "Z"}, {}}});
    auto const checked = check(config, program::build(config.program), {.prove = false});

    EXPECT_TRUE(checked.is_equal);
    EXPECT_FALSE(checked.is_proved);
    EXPECT_LT(checked.error_bound, 1e-15);
}

TEST(Recheck, every_element_means_every_element) {
    auto const config = of({{{"O"}, "mul", {"X", "Z"}, {}}}, 4096);
    auto const record = record_of(program::build(config.program), search::Verification::proved);

    EXPECT_LT(verify_again(config, {}, record, 7, Scope::sampled).elements, 4 * 4096);
    EXPECT_EQ(verify_again(config, {}, record, 7, Scope::every_element).elements, 4 * 4096);
}

// --- what is told ---

TEST(Told, the_cheapest_first_and_of_equal_ones_the_smaller_key) {
    auto const graph = program::build(product_of_roots().program);
    Records records(3, record_of(graph, search::Verification::proved));
    records[0].cost = 2, records[0].key = 9;
    records[1].cost = 2, records[1].key = 4;
    records[2].cost = 1, records[2].key = 7;

    config::RunConfig const run{.problem = problem_section().hold(product_of_roots())};
    search::ProblemInfo const info;
    search::Counts const counts;
    auto const list = kind().open({run, info, counts, records})->ranked();

    EXPECT_EQ(list[0].key, 7u);
    EXPECT_EQ(list[1].key, 4u);
    EXPECT_EQ(list[2].key, 9u);
    auto const config = product_of_roots();
    EXPECT_EQ(results_json(config, records, 2).size(), 2u);
    EXPECT_EQ(results_json(config, records, 0).size(), 3u);
}

TEST(Told, how_many_times_faster_than_the_input) {
    auto const config = product_of_roots();
    auto const graph = program::build(config.program);
    auto record = record_of(graph, search::Verification::random);
    record.cost = cost::estimate(graph, config.hardware).us / 4;
    record.error_bound = std::ldexp(1.0, -60) * 0.75;

    EXPECT_DOUBLE_EQ(results_json(config, {record}, 0)[0]["speedup"].get<double>(), 4);
    EXPECT_THAT(results_text(config, {record}, 0), HasSubstr("4.00x"));
    EXPECT_THAT(results_text(config, {record}, 0), HasSubstr("2^-60")); // rounded up
}

TEST(Told, all_refusals_are_counted_together) {
    auto const info = Mugraph(product_of_roots(), {}, 1).info();
    auto counts = search::zero_counts(info);
    for (std::size_t i = 0; i < counts.funnel.size(); ++i) counts.funnel[i] = 1000 * (i + 1);

    EXPECT_THAT(search::to_text(funnel(info, counts, {})), HasSubstr("6,000  by verification"));
}

// --- records of a search ---

TEST(Told, which_stages_are_complete_and_which_comes_next) {
    auto config = of({{{"O"}, "relu", {"X"}, {}}});
    config.program.inputs.pop_back();
    auto const space = make_space(config);
    auto const info = Mugraph(config, {}, 1).info();
    auto counts = search::zero_counts(info);
    auto const stage = std::ranges::find(info.counters, "stage", &search::CounterInfo::name) - info.counters.begin();
    counts.counters[static_cast<std::size_t>(stage)] = 2;

    EXPECT_EQ(info.stage_names.size(), space.stages.size());
    EXPECT_THAT(search::stage_text(info, 2), testing::MatchesRegex("stage 3 of [0-9]+: one kernel, 3 block ops"));
    EXPECT_THAT(stages_told(space, info, counts, "time_limit"),
                testing::MatchesRegex("2 of [0-9]+ complete; then: one kernel, 3 block ops"));
    EXPECT_THAT(stages_told(space, info, counts, "complete"), testing::MatchesRegex("all [0-9]+ complete"));
    config.space.max_block_ops = 2;
    EXPECT_EQ(stages_told(make_space(config), info, counts, "complete"), "") << "one stage";
}

TEST(Stored, records_say_what_was_found_out) {
    auto const small = search(product_of_roots()), large = search(mirage("rmsnorm_linear", {2, 4096, 6144}));

    ASSERT_FALSE(small.results.empty() || large.results.empty());
    auto const of_small = results_json(product_of_roots(), small.results, 1)[0];
    auto const of_large = results_json(mirage("rmsnorm_linear", {2, 4096, 6144}), large.results, 1)[0];
    EXPECT_EQ(of_small["scope"], "full");
    EXPECT_EQ(of_small["sampled_elements"], 4 * 8);
    EXPECT_EQ(of_large["scope"], "shrunk");
    EXPECT_LT(of_large["sampled_elements"].get<std::int64_t>(), 2 * 6144);
    for (auto const& result : small.results) {
        EXPECT_EQ(result.verification, search::Verification::proved);
        EXPECT_EQ(result.error_bound, 0);
    }
}

/// A workspace serves any order of calls: what it remembers of another node must not show.
TEST(Workspace, any_node_may_follow_any_other) {
    Mugraph const problem(mirage("rmsnorm_linear", {2, 512, 512}), {}, 1);
    std::vector<Node> nodes, sized;
    toys::Walker(problem).run([&](Node const& node) { (node.is_sized ? sized : nodes).push_back(node); });
    ASSERT_FALSE(sized.empty());
    auto const expand = [&](Node const& node, Mugraph::Workspace& workspace) {
        std::vector<Node> out;
        search::Children<Node> children(out);
        problem.expand(node, workspace, children);
        return out;
    };
    search::Notes notes(problem.info());
    auto used = problem.make_workspace(notes);
    for (std::size_t i = 0; i + 7 < nodes.size(); i += nodes.size() / 12) {
        auto fresh = problem.make_workspace(notes);
        auto const expected = expand(nodes[i], fresh);

        (void)problem.assess(nodes[i], used);
        (void)problem.assess(nodes[i + 7], used);
        EXPECT_EQ(expand(nodes[i], used), expected);
        (void)problem.assess(nodes[i], used);
        (void)problem.verify(std::span(sized).first(1), used);
        EXPECT_EQ(expand(nodes[i], used), expected);
    }
}

} // namespace
} // namespace espalier::problems::mugraph
