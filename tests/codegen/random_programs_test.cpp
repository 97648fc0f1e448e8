#include "support/compiled.hpp"
#include "support/doubles.hpp"
#include "support/random_programs.hpp"

#include "espalier/program/text.hpp"

#include <gtest/gtest.h>

#include <set>

namespace espalier::codegen {
namespace {

using program::Graph;
using program::OpCode;

void note_ops(Graph const& graph, std::set<OpCode>& seen) {
    for (auto const& op : graph.ops) seen.insert(op.code);
    for (auto const& body : graph.bodies) note_ops(body, seen);
}

/// What a compiled program gives, and what the plain interpreter of the tests says.
void expect_right(compiled::Library const& library, std::size_t i, Graph const& graph, base::Rng& rng) {
    for (auto const& inputs : doubles::telling_inputs(graph, rng)) {
        auto const found = library.run(i, inputs);
        auto const wanted = doubles::Interpreter(graph).run(inputs);
        for (std::size_t o = 0; o < wanted.size(); ++o)
            for (std::size_t n = 0; n < wanted[o].values.size(); ++n)
                ASSERT_TRUE(doubles::is_replaced_by(wanted[o].values[n], found[o][n]))
                    << "output " << o << " element " << n << ": " << found[o][n] << " instead of "
                    << wanted[o].values[n] << "\n"
                    << program::to_text(graph);
    }
}

TEST(RandomPrograms, compute_what_the_interpreter_of_the_tests_does_and_have_every_op) {
    programs::RandomPrograms random(base::Seed{5});
    base::Rng rng(base::Seed{6});
    std::vector<Graph> graphs;
    std::set<OpCode> seen;
    for (int i = 0; i < 160; ++i) {
        graphs.push_back(random.next());
        graphs.back().dtype = program::DType::f64;
        for (auto& body : graphs.back().bodies) body.dtype = program::DType::f64;
        note_ops(graphs.back(), seen);
    }

    compiled::Library const library(graphs, "-std=c++17 -O1 -fopenmp -Wall -Wextra -Werror -Wno-unused-function");

    for (std::size_t i = 0; i < graphs.size(); ++i) expect_right(library, i, graphs[i], rng);
    EXPECT_EQ(seen.size(), static_cast<std::size_t>(program::op_count));
}

} // namespace
} // namespace espalier::codegen
