#include "verifier.hpp"

#include "programs.hpp"

#include "espalier/base/json.hpp"

#include <gtest/gtest.h>

/// What may be called equal, and what stands in the way.
namespace espalier::problems::mugraph {
namespace {

using program::Graph;
using program::OpCode;
using enum verify::Verdict;

verify::Comparison comparison(verify::Verdict verdict) {
    verify::Comparison out;
    out.verdict = verdict;
    return out;
}
/// A form and a program that everything speaks for.
FormCheck const good_form{comparison(equal), true, true};
Evidence good_evidence() { return {.sampled = comparison(equal), .proof = {true, true, {}}}; }

TEST(Judge, a_proof_is_enough_and_so_is_a_bound_on_a_program_that_is_defined) {
    auto evidence = good_evidence();
    EXPECT_EQ(judge(good_form, evidence), Judgement::equal);

    evidence.proof = {false, true, "it is too large"};
    EXPECT_EQ(judge(good_form, evidence), Judgement::equal);

    FormCheck const no_bound{comparison(different), true, true}; // roots are no random functions
    evidence.proof = {true, true, {}};
    EXPECT_EQ(judge(no_bound, evidence), Judgement::equal);
}

TEST(Judge, nothing_is_equal_without_a_proof_or_a_bound) {
    auto evidence = good_evidence();
    evidence.proof = {false, true, "it is too large"};

    for (auto const verdict : {different, undecided})
        EXPECT_EQ(judge({comparison(verdict), true, true}, evidence), Judgement::undecided);
    evidence.whole = comparison(undecided);
    EXPECT_EQ(judge(good_form, evidence), Judgement::undecided);
}

TEST(Judge, a_form_without_a_second_shape_needs_a_proof) {
    auto evidence = good_evidence();
    EXPECT_EQ(judge(unchecked_form(), evidence), Judgement::equal);

    evidence.proof = {false, true, "it is too large"};
    EXPECT_EQ(judge(unchecked_form(), evidence), Judgement::undecided);
}

TEST(Judge, a_smaller_last_tile_needs_a_proof_unless_the_program_was_compared_whole) {
    auto evidence = good_evidence();
    evidence.has_tails = true;
    EXPECT_EQ(judge(good_form, evidence), Judgement::equal);

    evidence.proof = {false, true, "it is too large"};
    EXPECT_EQ(judge(good_form, evidence), Judgement::undecided) << "the other shape was even";
    evidence.whole = comparison(equal);
    EXPECT_EQ(judge(good_form, evidence), Judgement::equal);
}

TEST(Judge, a_bound_does_not_help_a_program_that_may_be_undefined) {
    auto evidence = good_evidence();
    evidence.proof = {false, false, "it divides by something"};

    EXPECT_EQ(judge(good_form, evidence), Judgement::undecided);
}

TEST(Judge, different_always_rejects) {
    auto sampled = good_evidence(), whole = good_evidence();
    sampled.sampled = comparison(different);
    whole.whole = comparison(different);

    EXPECT_EQ(judge(good_form, sampled), Judgement::refuted);
    EXPECT_EQ(judge(good_form, whole), Judgement::refuted);
    EXPECT_EQ(judge({comparison(different), false, false}, good_evidence()), Judgement::refuted);

    whole.has_roots = true; // taken as random functions: only a proof can know
    EXPECT_EQ(judge(good_form, whole), Judgement::equal);
    whole.proof.is_proved = false;
    EXPECT_EQ(judge(good_form, whole), Judgement::undecided);
}

TEST(Judge, floats_can_only_refute) {
    auto evidence = good_evidence();
    evidence.holds_in_floats = false;
    EXPECT_EQ(judge(good_form, evidence), Judgement::refuted_in_floats);
    EXPECT_EQ(judge({comparison(equal), true, false}, good_evidence()), Judgement::refuted_in_floats);

    evidence = good_evidence();
    evidence.sampled = comparison(undecided);
    EXPECT_EQ(judge(good_form, evidence), Judgement::undecided);
}

/// Every complete program of a small search, and what a verifier says about it.
class Bench {
public:
    explicit Bench(MugraphConfig const& config)
        : config_(config), setup_{Target(config.program), make_space(config), config.prune, 1, &config_.hardware},
          problem_(config, {}, 1), notes_(problem_.info()), explorer_(setup_, notes_) {
        toys::Walker<Mugraph>(problem_).run([&](Node const& node) {
            if (node.is_sized) nodes_.push_back(node);
        });
    }
    /// Judgements by a verifier whose input program at its real shape is another one than on small shapes.
    std::vector<Judgement> judge_against(Graph at_real_shape) {
        auto const own = std::exchange(setup_.target.input, std::move(at_real_shape));
        Verifier const verifier(setup_.target, setup_.space, {}, 1);
        setup_.target.input = own;
        FormMemo forms;
        std::vector<Judgement> out;
        for (auto const& node : nodes_) out.push_back(verifier.verify(node, explorer_, forms).judgement);
        return out;
    }
    [[nodiscard]] Graph const& input() const { return setup_.target.input; }

private:
    MugraphConfig config_;
    Setup setup_;
    Mugraph problem_;
    search::Notes notes_;
    Explorer explorer_;
    std::vector<Node> nodes_;
};

/// The same inputs and outputs, another function: the output is added to itself.
Graph doubled(Graph graph) {
    auto const last = graph.outputs[0];
    graph.ops.push_back({OpCode::add, {}, {last, last}});
    graph.outputs = {static_cast<int>(graph.inputs.size() + graph.ops.size()) - 1};
    return graph;
}

TEST(Verifier, a_program_that_is_right_on_small_shapes_and_wrong_at_its_own_is_refuted) {
    // compared whole, and on sampled elements
    for (std::int64_t const columns : {64, 6144}) {
        auto config = mirage("rmsnorm_linear", {2, 4096, columns});
        config.space.min_blocks = 1;
        config.space.kernel_ops = {OpCode::matmul, OpCode::div};
        config.space.block_ops = {OpCode::matmul, OpCode::div, OpCode::accumulate, OpCode::accumulate_rms};
        Bench bench(config);

        auto const right = bench.judge_against(bench.input());
        auto const wrong = bench.judge_against(doubled(bench.input()));

        ASSERT_FALSE(right.empty());
        EXPECT_EQ(std::ranges::count(right, Judgement::equal), std::ssize(right));
        EXPECT_EQ(std::ranges::count(wrong, Judgement::refuted), std::ssize(wrong));
    }
}

/// X V W: an element of the output takes all of V.
MugraphConfig products(std::int64_t size) {
    MugraphConfig out;
    auto& program = out.program;
    program.dims = {{"B", 8}, {"K", size}, {"N", 64}};
    program.inputs = {{"X", {"B", "K"}}, {"V", {"K", "K"}}, {"W", {"K", "N"}}};
    program.ops = {{{"Y"}, "matmul", {"X", "V"}, {}}, {{"R"}, "relu", {"Y"}, {}}, {{"O"}, "matmul", {"R", "W"}, {}}};
    program.outputs = {"O"};
    out.space.max_kernel_ops = 2;
    out.space.max_block_ops = 3;
    out.space.block_ops = {OpCode::matmul, OpCode::relu, OpCode::accumulate};
    return out;
}

TEST(Verifier, what_is_proved_is_not_sampled_where_that_takes_seconds) {
    for (std::int64_t const size : {1024, 4096}) {
        auto const walk = search(products(size));

        ASSERT_FALSE(walk.results.empty());
        for (auto const& result : walk.results) {
            std::string const text(reinterpret_cast<char const*>(result.payload.data()), result.payload.size());
            EXPECT_EQ(base::Json::parse(text)["sampled_elements"].get<int>() > 0, size == 1024);
            EXPECT_EQ(result.verification, search::Verification::proved);
        }
    }
}

/// sqrt(X) sqrt(Z): a candidate is sqrt(X Z), which only the laws of roots know to be equal.
MugraphConfig product_of_roots() {
    MugraphConfig out;
    auto& program = out.program;
    program.dims = {{"B", 4}, {"K", 8}};
    program.inputs = {{"X", {"B", "K"}}, {"Z", {"B", "K"}}};
    program.ops = {{{"x"}, "sqrt", {"X"}, {}}, {{"z"}, "sqrt", {"Z"}, {}}, {{"O"}, "mul", {"x", "z"}, {}}};
    program.outputs = {"O"};
    out.space.max_kernel_ops = 3;
    out.space.max_block_ops = 3;
    out.space.min_blocks = 1;
    return out;
}
std::uint64_t refused_as(MugraphConfig const& config, toys::Walk const& walk, std::string_view reason) {
    auto const names = Mugraph(config, {}, 1).info().reasons;
    return walk.counts.funnel.at(static_cast<std::size_t>(std::ranges::find(names, reason) - names.begin()));
}
std::size_t with_one_root(toys::Walk const& walk) {
    return static_cast<std::size_t>(std::ranges::count_if(
        walk.results, [](auto const& result) { return result.text.find("sqrt") == result.text.rfind("sqrt"); }));
}

TEST(Verifier, a_law_of_roots_that_may_not_be_proved_leaves_a_program_undecided) {
    auto const config = product_of_roots();

    auto const proved = search(config), tested = search(config, {.prove = false});

    EXPECT_GT(with_one_root(proved), 0u);
    EXPECT_EQ(refused_as(config, proved, "undecided"), 0u);
    EXPECT_EQ(with_one_root(tested), 0u);
    EXPECT_GT(tested.results.size(), 0u);
    EXPECT_GT(refused_as(config, tested, "undecided"), 0u);
    for (auto const& result : tested.results) {
        EXPECT_EQ(result.verification, search::Verification::random);
        EXPECT_LT(result.error_bound, 1e-15);
    }
}

} // namespace
} // namespace espalier::problems::mugraph
