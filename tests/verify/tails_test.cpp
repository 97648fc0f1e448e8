#include "espalier/verify/evaluate.hpp"
#include "espalier/verify/reference.hpp"

#include "emulated_graph.hpp"
#include "real_evaluate.hpp"

#include "support/brute_force.hpp"
#include "support/programs.hpp"
#include "support/random_programs.hpp"

#include <gmock/gmock.h>

#include <cmath>

/// Last tiles that are smaller than the others: every evaluator against slices of arrays.
namespace espalier::verify {
namespace {

using brute_force::Array;
using brute_force::Ints;
using brute_force::Unsupported;
using program::AttributeName;
using program::Graph;
using program::Op;
using program::OpCode;
using program::Schedule;
using programs::GraphBuilder;
using programs::RandomPrograms;

/// Whole numbers modulo the prime of the fields: sums and products.
struct Modular {
    using Value = std::uint64_t;
    static Value pointwise(OpCode code, Value a, Value b, Op const&) {
        switch (code) {
        case OpCode::add:
            return (a + b) % field::p;
        case OpCode::sub:
            return (a + field::p - b) % field::p;
        case OpCode::mul:
            return a * b % field::p;
        case OpCode::square:
            return a * a % field::p;
        default:
            throw Unsupported();
        }
    }
    static Value root_mean(Value, std::size_t, Op const&) { throw Unsupported(); }
};
struct Doubles {
    using Value = double;
    static double pointwise(OpCode code, double a, double b, Op const& op) {
        switch (code) {
        case OpCode::add:
            return a + b;
        case OpCode::sub:
            return a - b;
        case OpCode::mul:
            return a * b;
        case OpCode::div:
            return a / b;
        case OpCode::square:
            return a * a;
        case OpCode::exp:
            return std::exp(a);
        case OpCode::exp_sub:
            return std::exp(a - b);
        case OpCode::sqrt:
            return std::sqrt(a);
        case OpCode::sigmoid:
            return 1 / (1 + std::exp(-a));
        case OpCode::maximum:
            return std::max(a, b);
        case OpCode::minimum:
            return std::min(a, b);
        case OpCode::scale:
            return a * op.attributes.get(AttributeName::by, 1) / op.attributes.get(AttributeName::over, 1);
        default:
            throw Unsupported();
        }
    }
    static double root_mean(double sum, std::size_t count, Op const& op) {
        return std::sqrt(sum / static_cast<double>(count) + op.attributes.get(AttributeName::eps, 0));
    }
};

Ints sizes_of(program::Shape const& shape) { return {shape.begin(), shape.end()}; }

/// Every input element by its number and index, or nothing if the program has ops without brute force.
template <class Arithmetic, class Input>
std::optional<std::vector<Array<typename Arithmetic::Value>>> brute_force_of(Graph const& program, Input const& input) {
    std::vector<Array<typename Arithmetic::Value>> inputs;
    for (auto const& one : program.inputs) {
        Array<typename Arithmetic::Value> values(sizes_of(one.shape));
        for (std::size_t i = 0; i < values.data.size(); ++i)
            values.data[i] = input(static_cast<std::uint32_t>(inputs.size()), i);
        inputs.push_back(std::move(values));
    }
    try {
        return brute_force::Evaluator<Arithmetic>().run(program, std::move(inputs));
    } catch (Unsupported const&) {
        return std::nullopt;
    }
}

std::vector<real::Values> in_floats(Graph const& program, real::Inputs const& inputs) {
    std::vector<real::Box> boxes;
    auto const infos = infer(program);
    for (auto const id : program.outputs) boxes.push_back(real::whole(infos[id].shape));
    return real::evaluate(program, inputs, boxes);
}

TEST(Tails, random_programs_have_the_values_of_slices_in_the_field) {
    RandomPrograms random(base::Seed{31}, RandomPrograms::Cuts::uneven);
    random.only = {OpCode::add, OpCode::sub,    OpCode::mul,        OpCode::square,        OpCode::matmul,
                   OpCode::sum, OpCode::sum_to, OpCode::accumulate, OpCode::accumulate_sum};
    std::size_t compared = 0;
    for (std::uint64_t seed = 1; seed <= 3000; ++seed) {
        auto const program = random.next();
        if (!has_tails(program)) continue;
        auto const wanted = brute_force_of<Modular>(program, [&](std::uint32_t input, std::size_t i) {
            return std::uint64_t{field::random_input(seed, input, i).p};
        });
        if (!wanted) continue;

        auto const found = evaluate_reference(program, {.seed = seed});

        ASSERT_EQ(found.status, OpStatus::done);
        for (std::size_t i = 0; i < wanted->size(); ++i) {
            ASSERT_EQ(sizes_of(found.outputs[i].shape), (*wanted)[i].shape) << "program " << seed;
            ASSERT_TRUE(std::ranges::equal(found.outputs[i].p, (*wanted)[i].data)) << "program " << seed;
        }
        ++compared;
    }
    EXPECT_GT(compared, 60u);
}

TEST(Tails, random_programs_have_the_values_of_slices_in_floats) {
    RandomPrograms random(base::Seed{32}, RandomPrograms::Cuts::uneven);
    std::size_t compared = 0;
    for (std::uint64_t seed = 1; seed <= 6000; ++seed) {
        auto const program = random.next();
        if (!has_tails(program)) continue;
        real::Inputs const inputs{.seed = seed, .signs = real::Inputs::Signs::positive, .spread = 2};
        auto const wanted = brute_force_of<Doubles>(program, [&](std::uint32_t input, std::size_t i) {
            return real::RandomInput(inputs, static_cast<int>(input))(i);
        });
        if (!wanted) continue;

        auto const found = in_floats(program, inputs);

        for (std::size_t i = 0; i < wanted->size(); ++i)
            for (std::size_t n = 0; n < found[i].size(); ++n) {
                auto const value = (*wanted)[i].data.at(n);
                if (is_unknown(found[i][n]) || !std::isfinite(value)) continue;
                ASSERT_LE(std::abs(value - found[i][n].value), 100 * found[i][n].error + 1e-12 * (1 + std::abs(value)))
                    << "program " << seed;
                ++compared;
            }
    }
    EXPECT_GT(compared, 3000u);
}

/// Some indices of every dimension.
Demand some_of(program::Shape const& shape) {
    Demand out;
    for (auto const size : shape) {
        out.of_dim.push_back({size - 1});
        if (size > 2) out.of_dim.back() = {size / 2, size - 1};
    }
    return out;
}
/// Those elements of a tensor, row-major.
std::vector<std::uint32_t> taken(Tiles const& whole, Demand const& demand) {
    Array<std::uint32_t> values(sizes_of(whole.shape));
    values.data = whole.p;
    Ints counts;
    for (auto const& indices : demand.of_dim) counts.push_back(static_cast<std::int64_t>(indices.size()));
    std::vector<std::uint32_t> out;
    brute_force::for_each(counts, [&](Ints const& at) {
        Ints index;
        for (std::size_t d = 0; d < at.size(); ++d) index.push_back(demand.of_dim[d][static_cast<std::size_t>(at[d])]);
        out.push_back(values[index]);
    });
    return out;
}

TEST(Tails, tapes_have_the_values_of_the_plain_evaluator) {
    RandomPrograms random(base::Seed{33}, RandomPrograms::Cuts::uneven);
    std::size_t compared = 0;
    for (std::uint64_t seed = 1; seed <= 4000; ++seed) {
        auto const program = random.next();
        if (!has_tails(program)) continue;
        Draw const draw{.seed = seed};
        auto const wanted = evaluate_reference(program, draw), found = evaluate(program, draw);
        if (wanted.status != OpStatus::done) continue; // of ops, too, that no output needs
        ASSERT_EQ(found.status, OpStatus::done) << "program " << seed;
        ASSERT_EQ(found.outputs, wanted.outputs) << "program " << seed;

        std::vector<Demand> demands;
        for (auto const& output : wanted.outputs) demands.push_back(some_of(output.shape));
        auto const some = evaluate(program, draw, demands);

        for (std::size_t i = 0; i < demands.size() && some.status == OpStatus::done; ++i)
            ASSERT_EQ(some.outputs[i].p, taken(wanted.outputs[i], demands[i])) << "program " << seed;
        ++compared;
    }
    EXPECT_GT(compared, 200u);
}

TEST(Tails, emulated_programs_have_the_exact_values_of_floats) {
    RandomPrograms random(base::Seed{34}, RandomPrograms::Cuts::uneven);
    std::size_t compared = 0;
    for (std::uint64_t seed = 1; seed <= 3000; ++seed) {
        auto const program = random.next();
        if (!has_tails(program)) continue;
        real::Inputs const inputs{.seed = seed, .signs = real::Inputs::Signs::positive, .spread = 2};
        std::vector<emulated::Box> boxes;
        auto const infos = infer(program);
        for (auto const id : program.outputs) boxes.push_back(whole(infos[id].shape).dims);
        emulated::Arithmetic arithmetic(program::DType::f64);
        auto const input = [&](int number, std::uint64_t i) { return real::RandomInput(inputs, number)(i); };

        auto const found = emulated::evaluate(program, input, boxes, arithmetic);

        auto const wanted = in_floats(program, inputs);
        for (std::size_t i = 0; i < wanted.size(); ++i)
            for (std::size_t n = 0; n < wanted[i].size(); ++n) {
                auto const value = wanted[i][n];
                if (is_unknown(value) || !std::isfinite(value.value)) continue;
                ASSERT_LE(std::abs(value.value - found[i][n].exact),
                          100 * value.error + 1e-9 * (1 + std::abs(value.value)))
                    << "program " << seed;
                ++compared;
            }
    }
    EXPECT_GT(compared, 3000u);
}

/// One input through one accumulator, whose loop of `steps` splits the last dimension.
Graph accumulating(OpCode code, program::Shape const& whole, std::int64_t steps) {
    Schedule schedule{.loop = steps, .inputs = {{.loop = whole.rank() - 1}}};
    schedule.inputs[0] = with_tails(schedule.inputs[0], whole, schedule);
    GraphBuilder block(schedule), kernel;
    auto const tile = block.input(tile_shape(whole, schedule.inputs[0], schedule));
    auto const body = block.build({block.op(code, {tile})});
    auto const input = kernel.input(whole);
    return kernel.build({kernel.graph(body, {input})});
}

TEST(Tails, a_mean_divides_by_the_number_of_existing_elements) {
    auto const program = accumulating(OpCode::accumulate_rms, {1, 7}, 3); // 3, 3 and 1

    auto const found = in_floats(program, {.seed = 5})[0][0].value;

    double squares = 0;
    for (std::uint64_t i = 0; i < 7; ++i) squares += std::pow(real::RandomInput({.seed = 5}, 0)(i), 2);
    EXPECT_NEAR(found, std::sqrt(squares / 7), 1e-12);
}

TEST(Tails, a_maximum_of_negative_numbers_is_not_that_of_padding) {
    real::Inputs const inputs{.seed = 5, .signs = real::Inputs::Signs::negative};

    auto const found = in_floats(accumulating(OpCode::accumulate_max, {1, 7}, 3), inputs)[0][0].value;

    EXPECT_LT(found, 0);
}

} // namespace
} // namespace espalier::verify
