#include "espalier/base/rng.hpp"

#include "op_access.hpp"

#include <gtest/gtest.h>

#include <algorithm>

/// Every row of the table: what is fast is what the row means.
namespace espalier::verify {
namespace {

using program::Access;
using program::AttributeName;
using program::OpInfo;
using program::Shape;

class Draw {
public:
    std::int64_t below(std::int64_t n) { return static_cast<std::int64_t>(rng_.below(static_cast<std::uint64_t>(n))); }
    Shape shape() {
        Shape out;
        for (auto rank = 2 + below(2); rank > 0; --rank) out.push(2 * (1 + below(3)));
        return out;
    }
    /// Of the same shape, or broadcast to it.
    Shape part_of(Shape const& whole) {
        Shape out;
        for (int i = below(4) == 0 ? 1 : 0; i < whole.rank(); ++i) out.push(below(3) == 0 ? 1 : whole[i]);
        return out;
    }
    Tiles tiles(Shape const& shape, std::int64_t batch) {
        Tiles out{shape, batch, true, {}, {}};
        for (std::int64_t i = 0; i < batch * element_count(shape); ++i) {
            auto const value = field::random_input(seed_, 0, static_cast<std::uint64_t>(drawn_++));
            out.p.push_back(value.p);
            out.q.push_back(value.q);
        }
        return out;
    }
    /// That fit the row; an accumulator's has `loop` tiles for each of two blocks.
    std::vector<Tiles> operands(OpInfo const& row, std::int64_t loop) {
        auto const first = shape();
        auto const batch = 2 * loop;
        if (row.field.access == Access::contraction) return factors(first, row.field, batch);
        std::vector<Tiles> out{tiles(first, batch)};
        auto const is_alike = row.field.access == Access::rearrange;
        for (int i = 1; i < row.inputs; ++i) out.push_back(tiles(is_alike ? first : part_of(first), batch));
        return out;
    }
    program::Attributes attributes(OpInfo const& row, Shape const& shape) {
        program::Attributes out;
        auto const axis = static_cast<int>(below(shape.rank()));
        for (auto const name : row.attributes) {
            if (name == AttributeName::axis) out = out.with(name, axis);
            if (name == AttributeName::size) out = out.with(name, shape[axis] / 2);
            if (name == AttributeName::low) out = out.with(name, 1);
            if (name == AttributeName::by) out = out.with(name, std::vector{-0.125});
            if (name == AttributeName::over) out = out.with(name, 3);
            if (name == AttributeName::shape)
                out = out.with(name, std::vector{static_cast<double>(element_count(shape) / 2), -1.0});
            if (name == AttributeName::from) out = out.with(name, 1);
            if (name == AttributeName::eps) out = out.with(name, std::vector{0.001});
        }
        return out;
    }

private:
    /// One of them may have fewer leading dimensions.
    std::vector<Tiles> factors(Shape const& left, program::FieldRule const& rule, std::int64_t batch) {
        std::vector<Tiles> out, right;
        auto const rank = left.rank();
        auto const columns = 1 + below(4), shorter = below(4);
        for (int t = 0; t < rule.terms; ++t) {
            auto a = left, b = left;
            a[rank - 1] = b[rank - 2] = 1 + below(5);
            b[rank - 1] = columns;
            if (rule.is_transposed) std::swap(b[rank - 1], b[rank - 2]);
            out.push_back(tiles(shorter == 0 ? matrix(a) : a, batch));
            right.push_back(tiles(shorter == 1 ? matrix(b) : b, batch));
        }
        out.insert(out.end(), right.begin(), right.end());
        return out;
    }
    static Shape matrix(Shape const& shape) { return {shape[shape.rank() - 2], shape[shape.rank() - 1]}; }
    static constexpr std::uint64_t seed_ = 5;
    std::int64_t drawn_ = 0;
    base::Rng rng_{base::Seed{17}};
};

TEST(FastPaths, of_every_row_compute_what_it_means) {
    Draw draw;
    auto const model = field::make_model(3, field::Roots::power, true);
    for (auto const& row : program::op_table())
        for (int round = 0; round < (row.code == program::OpCode::graph ? 0 : 30); ++round) {
            auto const loop = is_accumulator(row) ? 1 + draw.below(3) : 1;
            auto const operands = draw.operands(row, loop);
            auto const attributes = draw.attributes(row, operands[0].shape);
            std::vector<Tiles const*> pointers;
            for (auto const& one : operands) pointers.push_back(&one);
            OpCall const call{row, attributes, model, pointers, loop};
            Tiles fast;
            ASSERT_EQ(evaluate_op(call, fast), OpStatus::done) << row.name;

            Tiles plain{fast.shape, fast.batch, fast.has_q, {}, {}};
            ASSERT_EQ(evaluate_meaning(call, plain), OpStatus::done) << row.name;
            EXPECT_EQ(fast, plain) << row.name << ' ' << to_text(operands[0].shape);
        }
}

} // namespace
} // namespace espalier::verify
