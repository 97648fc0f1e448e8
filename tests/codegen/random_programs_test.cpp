#include "support/compiled.hpp"
#include "support/doubles.hpp"
#include "support/packages.hpp"
#include "support/random_programs.hpp"

#include "espalier/program/text.hpp"

#include <gtest/gtest.h>

#include <set>

namespace espalier::codegen {
namespace {

using program::Graph;
using program::OpCode;
using Cuts = programs::RandomPrograms::Cuts;

void note_ops(Graph const& graph, std::set<OpCode>& seen) {
    for (auto const& op : graph.ops) seen.insert(op.code);
    for (auto const& body : graph.bodies) note_ops(body, seen);
}

/// Uneven: those with smaller last tiles, which are one in sixteen.
std::vector<Graph> random_graphs(base::Seed seed, Cuts cuts, std::size_t count) {
    programs::RandomPrograms random(seed, cuts);
    std::vector<Graph> out;
    while (out.size() < count) {
        auto const graph = random.next();
        if (cuts == Cuts::even || program::has_tails(graph))
            out.push_back(packages::stored_as(graph, program::DType::f64));
    }
    return out;
}

/// The results of a compiled program, and those of the plain interpreter of the tests.
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

void expect_all_right(std::vector<Graph> const& graphs) {
    base::Rng rng(base::Seed{6});

    compiled::Library const library(graphs, "-std=c++17 -O1 -fopenmp -Wall -Wextra -Werror -Wno-unused-function");

    for (std::size_t i = 0; i < graphs.size(); ++i) expect_right(library, i, graphs[i], rng);
}

TEST(RandomPrograms, compute_what_the_interpreter_of_the_tests_does_and_have_every_op) {
    auto const graphs = random_graphs(base::Seed{5}, Cuts::even, 160);
    std::set<OpCode> seen;
    for (auto const& graph : graphs) note_ops(graph, seen);

    expect_all_right(graphs);
    EXPECT_EQ(seen.size(), static_cast<std::size_t>(program::op_count));
}

TEST(RandomPrograms, with_smaller_last_tiles_compute_what_the_interpreter_of_the_tests_does) {
    expect_all_right(random_graphs(base::Seed{7}, Cuts::uneven, 80));
}

} // namespace
} // namespace espalier::codegen
