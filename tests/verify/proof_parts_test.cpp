#include "espalier/verify/proof.hpp"

#include <gtest/gtest.h>

/// Programs that are too large to be written out, proved where they can be cut.
namespace espalier::verify {
namespace {

using namespace program;
using enum OpCode;
using Ops = std::vector<Op>;

Shape const shape{4, 6};

Graph of(Ops ops) {
    Graph out{.inputs = {{"a", shape}, {"b", shape}, {"c", shape}}, .ops = std::move(ops)};
    out.outputs = {2 + static_cast<int>(out.ops.size())};
    return out;
}
/// ((first)^2)^2.. of a sum: 2^20 terms.
Ops powers(Op first, int from = 3) {
    Ops out{std::move(first)};
    for (int i = 0; i < 20; ++i) out.push_back({square, {}, {from + i}});
    return out;
}
Op const a_plus_b{add, {}, {0, 1}};

/// The ops that only read what these ops make, in one kernel without a loop: tiles 0, 1, 2 and what follows.
Graph in_one_kernel(Ops ops) {
    Graph block{.level = Level::block, .inputs = {{"", shape}, {"", shape}, {"", shape}}, .ops = std::move(ops)};
    block.outputs = {2 + static_cast<int>(block.ops.size())};
    block.schedule.inputs.resize(3);
    Graph out = of({{.code = graph, .attributes = {}, .inputs = {0, 1, 2}, .body = 0}});
    out.bodies.push_back(std::move(block));
    return out;
}
Proof prove(Graph const& reference, Graph const& candidate) { return Prover(reference).prove(candidate); }

TEST(ProofParts, tensors_that_are_equal_are_cut) {
    EXPECT_TRUE(prove(of(powers(a_plus_b)), of(powers({add, {}, {1, 0}}))).is_proved);
}

TEST(ProofParts, a_kernel_is_the_tensors_that_it_outputs) {
    auto first = in_one_kernel({a_plus_b, {square, {}, {3}}, {square, {}, {4}}});
    for (int i = 0; i < 18; ++i) first.ops.push_back({square, {}, {3 + i}});
    first.outputs = {3 + 18};

    EXPECT_TRUE(prove(of(powers(a_plus_b)), first).is_proved);
}

TEST(ProofParts, without_a_tensor_to_cut_nothing_is_proved) {
    EXPECT_FALSE(prove(of(powers(a_plus_b)), in_one_kernel(powers(a_plus_b))).is_proved);
}

TEST(ProofParts, a_different_program_is_not_proved) {
    auto other_end = powers(a_plus_b), other_middle = other_end;
    other_end.back().code = exp;
    other_middle[10].code = silu;

    EXPECT_FALSE(prove(of(powers(a_plus_b)), of(powers({add, {}, {0, 2}}))).is_proved);
    EXPECT_FALSE(prove(of(powers(a_plus_b)), of(other_end)).is_proved);
    EXPECT_FALSE(prove(of(powers(a_plus_b)), of(other_middle)).is_proved);
}

TEST(ProofParts, what_is_read_must_be_defined_where_the_reference_needs_it) {
    auto ops = powers({div, {}, {0, 1}});
    ops.push_back({add, {}, {3, 2}}); // a / b + c, and a part that is too large to be written
    ops[1] = {add, {}, {3, 2}};
    auto reference = of(ops), candidate = reference;
    reference.ops.push_back({add, {}, {2, 2}});
    for (auto const& op : Ops{{sub, {}, {4, 4}}, {add, {}, {2, 2}}, {add, {}, {25, 26}}}) candidate.ops.push_back(op);
    reference.outputs = {23, 25};
    candidate.outputs = {23, 27};

    auto const proof = prove(reference, candidate);

    EXPECT_FALSE(proof.is_proved || proof.is_defined);
    candidate.outputs = {23, 26};
    EXPECT_TRUE(prove(reference, candidate).is_proved);
}

} // namespace
} // namespace espalier::verify
