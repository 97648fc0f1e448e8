#include "espalier/program/meaning_evaluate.hpp"

#include "espalier/base/rng.hpp"

#include "support/doubles_ops.hpp"

#include <gmock/gmock.h>

/// What an op means, against an interpreter that was written without it, and against hands.
namespace espalier::program {
namespace {

using testing::ElementsAre;

/// Doubles, as the rows say.
struct DoubleDomain {
    using Value = double;

    Attributes const& attributes;

    static double zero() { return 0; }
    static double whole(std::int64_t n) { return static_cast<double>(n); }
    [[nodiscard]] double apply(OpCode op, double a, double b) const {
        return info(op).real({a, 0}, {b, 0}, attributes).value;
    }
    static double number(double number) { return number; }
};

using doubles::Tensor;
using doubles::Tensors;

/// Operands of an accumulator are the tiles of all steps, one operand after the other.
std::size_t steps_of(OpInfo const& row, Tensors const& operands) {
    return is_accumulator(row) ? operands.size() / static_cast<std::size_t>(row.inputs) : 1;
}
std::vector<Shape> shapes_of(OpInfo const& row, Tensors const& operands) {
    std::vector<Shape> shapes;
    for (std::size_t i = 0; i < operands.size(); i += steps_of(row, operands)) shapes.push_back(operands[i].shape);
    return shapes;
}

Tensor by_meaning(OpCode code, Attributes const& attributes, Tensors const& operands) {
    auto const& row = info(code);
    auto const shapes = shapes_of(row, operands);
    auto const steps = steps_of(row, operands), count = shapes.size();
    Tensors made;
    auto const fetch = [&](std::size_t source, std::int64_t step, std::vector<std::int64_t> const& at) {
        auto const& from =
            source >= count ? made[source - count] : operands[source * steps + static_cast<std::size_t>(step)];
        return from[at];
    };
    DoubleDomain domain{attributes};
    NestEvaluator evaluator(domain, fetch);
    auto const size = attributes.whole(AttributeName::size, 0);
    for (auto const& nest : meaning_of(row, {shapes, attributes, size, static_cast<std::int64_t>(steps)}).nests) {
        made.emplace_back(nest.kept);
        made.back().values = evaluator.run(nest);
    }
    return made.back();
}

Tensor independently(OpCode code, Attributes const& attributes, Tensors const& operands) {
    Op const op{code, attributes, {}};
    auto const& row = info(code);
    auto const shapes = shapes_of(row, operands);
    doubles::Operands in;
    for (auto const& operand : operands) in.push_back(&operand);
    auto const size = attributes.whole(AttributeName::size, 0);
    auto const shape = *row.shape({shapes, attributes, size, 1});
    if (!is_accumulator(row)) return doubles::run_op(op, in, shape);
    if (row.inputs == 2) {
        std::vector<std::pair<Tensor, Tensor>> steps;
        auto const count = steps_of(row, operands);
        for (std::size_t s = 0; s < count; ++s) steps.emplace_back(operands[s], operands[count + s]);
        return doubles::rescaled(steps, shape);
    }
    auto sum = doubles::start(op, operands[0].shape);
    for (auto const& tile : operands) doubles::add_up(op, tile, sum);
    return doubles::finish(op, sum, shape, static_cast<std::int64_t>(operands.size()) * element_count(sum.shape));
}

class Draw {
public:
    std::int64_t below(std::int64_t n) { return static_cast<std::int64_t>(rng_.below(static_cast<std::uint64_t>(n))); }
    Shape shape() {
        Shape out;
        for (auto rank = 2 + below(3); rank > 0; --rank) out.push(2 * (1 + below(3)));
        return out;
    }
    /// Positive, so that every op is defined.
    Tensor tensor(Shape const& shape) {
        Tensor out(shape);
        for (auto& value : out.values) value = 0.25 + static_cast<double>(below(1 << 30)) / (1 << 29);
        return out;
    }
    /// A shape that broadcasts to the other.
    Shape part_of(Shape const& whole) {
        Shape out;
        for (int i = below(4) == 0 ? 1 : 0; i < whole.rank(); ++i) out.push(below(3) == 0 ? 1 : whole[i]);
        return out;
    }
    /// Operands that fit, by the way an op reads them.
    Tensors operands(OpInfo const& row) {
        auto const first = shape();
        if (row.field.access == Access::contraction) return factors(first, row.field);
        if (row.field.access == Access::rearrange) return Tensors(static_cast<std::size_t>(row.inputs), tensor(first));
        Tensors out;
        auto const steps = is_accumulator(row) ? 1 + below(3) : 1;
        for (int i = 0; i < row.inputs; ++i) {
            auto const shape = i == 0 ? first : part_of(first);
            for (std::int64_t s = 0; s < steps; ++s) out.push_back(tensor(shape));
        }
        return out;
    }
    /// Without slices a slice takes all.
    Attributes attributes(OpInfo const& row, Shape const& shape, bool has_slices = true) {
        Attributes out;
        auto const axis = static_cast<int>(below(shape.rank()));
        for (auto const name : row.attributes) {
            if (name == AttributeName::axis) out = out.with(name, axis - (below(2) ? shape.rank() : 0));
            if (name == AttributeName::size) out = out.with(name, shape[axis] / 2);
            if (name == AttributeName::low) out = out.with(name, 1);
            if (name == AttributeName::by) out = out.with(name, std::vector{-0.375});
            if (name == AttributeName::over && below(2)) out = out.with(name, 3);
            if (name == AttributeName::eps && below(2)) out = out.with(name, std::vector{0.5});
            if (name == AttributeName::shape) out = out.with(name, reshaped(shape));
            if (name == AttributeName::dtype) out = out.with(name, 1);
            if (name == AttributeName::from && has_slices) out = out.with(name, 1 - below(2) * shape[axis]);
            if (name == AttributeName::permutation && below(2)) out = out.with(name, rotation(shape.rank()));
        }
        return out;
    }

private:
    /// In two dimensions, which may lie across those of the tensor.
    std::vector<double> reshaped(Shape const& shape) {
        auto const count = element_count(shape);
        auto rows = 1 + below(count);
        while (count % rows != 0) --rows;
        return {static_cast<double>(rows), below(2) ? -1 : static_cast<double>(count / rows)};
    }
    static std::vector<double> rotation(int rank) {
        std::vector<double> out;
        for (int i = 0; i < rank; ++i) out.push_back((i + 1) % rank - (i == 0 ? rank : 0));
        return out;
    }
    /// One side may have fewer leading dimensions.
    Tensors factors(Shape const& left, FieldRule const& rule) {
        Tensors out;
        std::vector<Shape> right;
        auto const rank = left.rank();
        auto const columns = 1 + below(4), shorter = below(4);
        auto const matrix = [](Shape const& shape) { return Shape{shape[shape.rank() - 2], shape.back()}; };
        for (int t = 0; t < rule.terms; ++t) {
            auto a = left, b = left;
            a[rank - 1] = b[rank - 2] = 1 + below(5);
            b[rank - 1] = columns;
            if (rule.is_transposed) std::swap(b[rank - 1], b[rank - 2]);
            out.push_back(tensor(shorter == 0 ? matrix(a) : a));
            right.push_back(shorter == 1 ? matrix(b) : b);
        }
        for (auto const& shape : right) out.push_back(tensor(shape));
        return out;
    }
    base::Rng rng_{base::Seed{11}};
};

TEST(Meaning, every_op_is_what_an_independent_interpreter_computes) {
    Draw draw;
    for (auto const& row : op_table())
        for (int round = 0; round < (row.code == OpCode::graph ? 0 : 40); ++round) {
            auto const operands = draw.operands(row);
            auto const attributes = draw.attributes(row, operands[0].shape);

            auto const found = by_meaning(row.code, attributes, operands);
            auto const wanted = independently(row.code, attributes, operands);

            ASSERT_EQ(found.shape, wanted.shape) << row.name;
            for (std::size_t i = 0; i < wanted.values.size(); ++i)
                ASSERT_NEAR(found.values[i], wanted.values[i], 1e-9 * (1 + std::abs(wanted.values[i]))) << row.name;
        }
}

// --- what no op of the table asks for yet ---

Position loop(std::size_t i, std::int64_t size, std::int64_t offset = 0) {
    Position out;
    out.digits.push({.loop = i, .size = size});
    out.offset = offset;
    return out;
}
std::vector<double> run(Nest const& nest, std::vector<double> const& line) {
    Attributes const none;
    DoubleDomain domain{none};
    auto const fetch = [&](std::size_t, std::int64_t, std::vector<std::int64_t> const& at) {
        return line[static_cast<std::size_t>(at.size() == 1 ? at[0] : at[0] * 2 + at[1])];
    };
    return NestEvaluator(domain, fetch).run(nest);
}
/// out[i] = over k = 0..2 of in[i + k - 1].
Nest window(Reducer reducer, Outside outside) {
    Position at = loop(0, 4, -1);
    at.digits.push({.loop = 1, .size = 3});
    Nest out{.kept = {4}, .reducer = reducer, .body = {{.kind = ScalarNode::Kind::read}}};
    out.reduced.push(3);
    Read read{.shape = {4}, .outside = outside};
    read.index.push(at);
    out.reads.push(read);
    return out;
}

TEST(Meaning, a_window_past_the_edge_is_padded_with_zeros_or_cut) {
    std::vector<double> const line{-1, -2, -3, -4};

    EXPECT_THAT(run(window(Reducer::sum, Outside::zero), line), ElementsAre(-3, -6, -9, -7));
    EXPECT_THAT(run(window(Reducer::maximum, Outside::zero), line), ElementsAre(0, -1, -2, 0));
    EXPECT_THAT(run(window(Reducer::maximum, Outside::skip), line), ElementsAre(-1, -1, -2, -3));
}

TEST(Meaning, digits_of_a_loop_read_a_matrix_as_a_list) {
    Nest list{.kept = {6}, .body = {{.kind = ScalarNode::Kind::read}}};
    Read read{.shape = {3, 2}};
    for (auto const& digit : {LoopDigit{.loop = 0, .size = 3, .below = 2}, LoopDigit{.loop = 0, .size = 2}}) {
        Position at;
        at.digits.push(digit);
        read.index.push(at);
    }
    list.reads.push(read);

    EXPECT_THAT(run(list, {1, 2, 3, 4, 5, 6}), ElementsAre(1, 2, 3, 4, 5, 6));
}

// --- flops and bytes ---

struct Counted {
    OpCode code;
    std::vector<Shape> in;
    double flops, fused, functions;
    Attributes attributes = {};
};

TEST(Meaning, flops_are_those_of_the_nests_by_hand) {
    auto const size_2 = Attributes().with(AttributeName::size, 2);
    std::vector<Counted> const all{
        {OpCode::matmul, {{2, 3}, {3, 5}}, 2 * 2 * 3 * 5, 2 * 3 * 5, 0},
        {OpCode::concat_matmul, {{2, 3}, {2, 4}, {3, 5}, {4, 5}}, 2 * 2 * (3 + 4) * 5, 0, 0},
        {OpCode::add, {{2, 3}, {3}}, 6, 0, 0},
        {OpCode::div, {{2, 3}, {2, 1}}, 24, 0, 0},
        {OpCode::tanh, {{2, 3}}, 0, 0, 6},
        {OpCode::sum, {{2, 8}}, 16, 0, 0},
        {OpCode::sum_to, {{2, 8}}, 16, 0, 0, size_2},
        {OpCode::rms, {{2, 8}}, 32, 16, 0},
        {OpCode::rms_norm, {{2, 8}}, 32 + 64, 16, 0},
        {OpCode::layer_norm, {{2, 8}}, 16 + 16 + 32 + 64, 16, 0},
        {OpCode::accumulate, {{2, 8}}, 3 * 16, 0, 0},
        {OpCode::accumulate_rms, {{2, 8}}, 3 * 32, 3 * 16, 0},
        {OpCode::max, {{2, 8}}, 16, 0, 0},
        {OpCode::center, {{2, 8}}, 16 + 16, 0, 0},
        {OpCode::scale, {{2, 8}}, 16, 0, 0},
        {OpCode::transpose, {{2, 8}}, 0, 0, 0},
        {OpCode::matmul_nt, {{2, 3}, {5, 3}}, 2 * 2 * 3 * 5, 2 * 3 * 5, 0},
        {OpCode::accumulate_rescaled, {{2, 8}, {2, 1}}, 3 * (2 + 3 * 16), 3 * 16, 3 * 16},
    };
    for (auto const& [code, in, flops, fused, functions, attributes] : all) {
        auto const size = attributes.whole(AttributeName::size, 0);
        auto const count = count_of(meaning_of(info(code), {in, attributes, size, 3}));
        EXPECT_EQ(count.flops, flops) << name(code);
        EXPECT_EQ(count.fused, fused) << name(code);
        EXPECT_EQ(count.functions, functions) << name(code);
    }
}

TEST(Meaning, every_op_reads_all_of_its_operands) {
    Draw draw;
    for (auto const& row : op_table())
        for (int round = 0; round < (row.code == OpCode::graph ? 0 : 10); ++round) {
            auto const operands = draw.operands(row);
            auto const shapes = shapes_of(row, operands);
            auto const attributes = draw.attributes(row, shapes[0], false);
            auto const steps = static_cast<std::int64_t>(steps_of(row, operands));
            auto const meaning = meaning_of(row, {shapes, attributes, attributes.whole(AttributeName::size, 0), steps});

            for (std::size_t i = 0; i < shapes.size(); ++i)
                EXPECT_EQ(elements_read(meaning, i),
                          static_cast<double>(element_count(shapes[i]) * (is_accumulator(row) ? steps : 1)))
                    << row.name;
        }
}

TEST(Meaning, of_a_part_only_the_part_is_read) {
    auto first_half = window(Reducer::sum, Outside::zero);
    EXPECT_EQ(elements_read({{first_half}}, 0), 4);

    Nest half{.kept = {2}, .body = {{.kind = ScalarNode::Kind::read}}};
    Read read{.shape = {4}};
    read.index.push(loop(0, 2));
    half.reads.push(read);
    EXPECT_EQ(elements_read({{half}}, 0), 2);
    EXPECT_EQ(elements_read({{half}}, 1), 0);
}

} // namespace
} // namespace espalier::program
