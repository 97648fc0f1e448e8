#include "programs.hpp"

#include "espalier/base/error.hpp"
#include "espalier/problems/mugraph/report.hpp"
#include "espalier/verify/reference.hpp"

#include <gmock/gmock.h>

namespace espalier::problems::mugraph {
namespace {

using program::Graph;

/// Every program with one op, operand, map or loop range of a block changed, as far as it is legal and has the outputs
/// of the original.
class Mutants {
public:
    explicit Mutants(Graph graph) : original_(std::move(graph)), outputs_(output_shapes(original_)) {}

    std::vector<Graph> all() {
        for (std::size_t b = 0; b < original_.bodies.size(); ++b) {
            change_ops(b);
            change_operands(b);
            change_maps(b);
        }
        return std::move(out_);
    }

private:
    static std::vector<program::Shape> output_shapes(Graph const& graph) {
        auto const tensors = program::infer(graph);
        std::vector<program::Shape> out;
        for (auto const id : graph.outputs) out.push_back(tensors[id].shape);
        return out;
    }
    void keep(Graph mutant) {
        try {
            for (std::size_t b = 0; b < mutant.bodies.size(); ++b) retile(mutant, b);
            if (output_shapes(mutant) == outputs_) out_.push_back(std::move(mutant));
        } catch (base::InputError const&) {
            // not legal: nobody would verify it
        }
    }
    /// Tiles follow from the schedule.
    void retile(Graph& mutant, std::size_t b) const {
        auto const tensors = program::infer(original_);
        auto& body = mutant.bodies[b];
        for (auto const& op : mutant.ops)
            for (std::size_t i = 0; op.body == static_cast<int>(b) && i < op.inputs.size(); ++i) {
                auto const& whole = tensors[op.inputs[i]].shape;
                auto& partition = body.schedule.inputs[i];
                partition = program::with_tails(partition, whole, body.schedule);
                body.inputs[i].shape = program::tile_shape(whole, partition, body.schedule);
            }
    }
    void change_ops(std::size_t b) {
        for (auto const i : original_.bodies[b].ops.ids())
            for (auto const& row : program::op_table()) {
                auto mutant = original_;
                auto& op = mutant.bodies[b].ops[i];
                if (row.inputs != static_cast<int>(op.inputs.size()) || row.code == op.code) continue;
                op.code = row.code;
                op.attributes = {};
                keep(std::move(mutant));
            }
    }
    void change_operands(std::size_t b) {
        auto const& body = original_.bodies[b];
        for (auto const i : body.ops.ids())
            for (std::size_t j = 0; j < body.ops[i].inputs.size(); ++j)
                for (int other = 0; other < static_cast<int>(body.inputs.size()) + i.value; ++other) {
                    if (program::TensorId{other} == body.ops[i].inputs[j]) continue;
                    auto mutant = original_;
                    mutant.bodies[b].ops[i].inputs[j] = program::TensorId{other};
                    keep(std::move(mutant));
                }
    }
    void change_maps(std::size_t b) {
        auto const& schedule = original_.bodies[b].schedule;
        for (std::size_t i = 0; i < schedule.inputs.size(); ++i)
            for (int dim = -1; dim < 3; ++dim) {
                auto mutant = original_;
                mutant.bodies[b].schedule.inputs[i].loop = dim;
                keep(mutant);
                mutant = original_;
                mutant.bodies[b].schedule.inputs[i].grid[0] = dim;
                keep(std::move(mutant));
            }
        for (int dim = 0; dim < 3; ++dim) {
            auto mutant = original_;
            mutant.bodies[b].schedule.output[0] = dim;
            keep(std::move(mutant));
        }
        for (std::int64_t const loop : {1, 2, 3, 4, 6, 8}) {
            auto mutant = original_;
            mutant.bodies[b].schedule.loop = loop;
            keep(std::move(mutant));
        }
    }

    Graph original_;
    std::vector<program::Shape> outputs_;
    std::vector<Graph> out_;
};

/// The truth: every element at full shape, by the plain evaluator, on three draws.
bool is_really_equal(Graph const& a, Graph const& b) {
    for (std::uint64_t seed = 100; seed < 103; ++seed) {
        verify::Draw const draw{seed, field::Roots::power, verify::Exponents::always};
        if (verify::evaluate_reference(a, draw).outputs != verify::evaluate_reference(b, draw).outputs) return false;
    }
    return true;
}

struct Tally {
    int mutants = 0, rejected = 0;
};

Tally expect_only_equal_mutants_pass(MugraphConfig const& config) {
    Tally tally;
    auto const reference = program::build(config.program);
    for (auto const& graph : programs_of(search(config)))
        for (auto const& mutant : Mutants(program::inline_thread_graphs(graph)).all()) {
            search::ResultRecord record;
            record.text = program::to_text(mutant);
            record.key = program::canonical_key(mutant);
            auto const check = verify_again(config, {}, record, 7, Scope::sampled);
            ++tally.mutants;
            tally.rejected += check.is_equal ? 0 : 1;
            if (check.is_equal || check.is_proved)
                EXPECT_TRUE(is_really_equal(reference, mutant)) << record.text;
            else
                EXPECT_FALSE(is_really_equal(reference, mutant)) << check.reason << '\n' << record.text;
        }
    return tally;
}

TEST(Mutation, of_programs_with_smaller_last_tiles_only_equal_programs_pass) {
    auto config = full("rmsnorm_linear", {2, 67, 71});
    config.space.max_kernel_ops = 1;
    config.space.schedules = SpaceConfig::Schedules::best;

    auto const tally = expect_only_equal_mutants_pass(config);

    EXPECT_GT(tally.mutants, 300);
    EXPECT_GT(tally.rejected, 150);
}

TEST(Mutation, of_rmsnorm_and_linear_only_equal_programs_pass) {
    auto config = full("rmsnorm_linear", {4, 24, 18});
    config.space.max_kernel_ops = 1;

    auto const tally = expect_only_equal_mutants_pass(config);

    EXPECT_GT(tally.mutants, 500);
    EXPECT_GT(tally.rejected, 400);
}

TEST(Mutation, of_the_gated_mlp_only_equal_programs_pass) {
    auto config = full("gated_mlp", {4, 12, 8});
    config.space.max_kernel_ops = 1;
    config.space.max_block_ops = 6;
    config.space.schedules = SpaceConfig::Schedules::best;

    auto const tally = expect_only_equal_mutants_pass(config);

    EXPECT_GT(tally.mutants, 100);
    EXPECT_GT(tally.rejected, 80);
}

} // namespace
} // namespace espalier::problems::mugraph
