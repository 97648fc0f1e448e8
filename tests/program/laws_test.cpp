#include "espalier/program/draw.hpp"
#include "espalier/program/json.hpp"
#include "espalier/program/text.hpp"
#include "program/random_programs.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace espalier::program {
namespace {

using namespace samples;

TEST(Laws, text_and_json_can_be_read_back) {
    EXPECT_TRUE(rc::check([](std::uint32_t seed) {
        Dice dice(seed);
        auto const graph = random_program(dice);

        RC_ASSERT(parse_text(to_text(graph), "file") == graph);
        RC_ASSERT(from_json(to_json(graph)) == graph);
    }));
}

TEST(Laws, the_order_of_ops_does_not_change_keys) {
    EXPECT_TRUE(rc::check([](std::uint32_t seed) {
        Dice dice(seed);
        auto const graph = inline_thread_graphs(random_program(dice));
        auto other = shuffled(dice, graph);
        for (auto& body : other.bodies) body = shuffled(dice, body);

        RC_ASSERT(canonical_key(graph) == canonical_key(other));
        RC_ASSERT(form_key(graph) == form_key(other));
    }));
}

TEST(Laws, thread_graphs_keep_keys_and_shapes_and_save_memory) {
    EXPECT_TRUE(rc::check([](std::uint32_t seed) {
        Dice dice(seed);
        auto const graph = inline_thread_graphs(random_program(dice));
        auto const other = with_thread_graphs(graph);

        RC_ASSERT(canonical_key(graph) == canonical_key(other));
        RC_ASSERT(form_key(graph) == form_key(other));
        RC_ASSERT(infer(graph) == infer(other));
        RC_ASSERT(with_thread_graphs(other) == other);
        for (std::size_t i = 0; i < graph.bodies.size(); ++i)
            RC_ASSERT(shared_memory_sum_bytes(graph.bodies[i]) == shared_memory_sum_bytes(other.bodies[i]));
    }));
}

TEST(Laws, another_op_is_another_program) {
    EXPECT_TRUE(rc::check([](std::uint32_t seed) {
        Dice dice(seed);
        auto const graph = random_program(dice);
        auto other = graph;
        other.ops.push_back(op(OpCode::exp, {graph.outputs[0]}));
        other.outputs[0] = TensorId{static_cast<int>(infer(other).size()) - 1};

        RC_ASSERT(canonical_key(graph) != canonical_key(other));
        RC_ASSERT(form_key(graph) != form_key(other));
    }));
}

TEST(Laws, every_program_can_be_drawn) {
    EXPECT_TRUE(rc::check([](std::uint32_t seed) {
        Dice dice(seed);
        auto const graph = random_program(dice);

        RC_ASSERT(to_svg(graph).find("nan") == std::string::npos);
        RC_ASSERT(!to_dot(graph).empty());
    }));
}

} // namespace
} // namespace espalier::program
