#pragma once

#include "espalier/base/rng.hpp"

#include "support/programs.hpp"

#include <algorithm>

namespace espalier::programs {

/// Adds random legal ops to graphs.
class RandomOps {
public:
    explicit RandomOps(base::Seed seed) : rng_(seed) {}

    /// In [0, n).
    std::int64_t below(std::int64_t n) { return static_cast<std::int64_t>(rng_.below(static_cast<std::uint64_t>(n))); }

    bool chance(int percent) { return below(100) < percent; }
    template <class T>
    T pick(std::vector<T> const& from) {
        return from[static_cast<std::size_t>(below(static_cast<std::int64_t>(from.size())))];
    }

    static std::vector<int> all_tensors(GraphBuilder const& builder) {
        std::vector<int> out;
        for (int id = 0; id < builder.tensors(); ++id) out.push_back(id);
        return out;
    }
    static Shape const& shape_of(program::TensorInfos const& known, int id) {
        return known[program::TensorId{id}].shape;
    }

    enum class Kind { any, pointwise, accumulator };
    OpCode random_op(program::Level level, Kind kind) {
        std::vector<OpCode> fitting;
        for (auto const& row : program::op_table()) {
            auto const is_fitting = kind == Kind::any         ? !is_accumulator(row)
                                    : kind == Kind::pointwise ? is_pointwise(row)
                                                              : is_accumulator(row);
            auto const weight = row.field.access == program::Access::contraction ? 6 : 1;
            if (!only.empty() && std::ranges::count(only, row.code) == 0) continue;
            if (row.code == OpCode::graph || !row.at[static_cast<std::size_t>(level)] || !is_fitting) continue;
            fitting.insert(fitting.end(), static_cast<std::size_t>(weight), row.code);
        }
        return pick(fitting);
    }
    Attributes random_attributes(OpCode code, Shape const& shape) {
        Attributes out;
        auto const names = info(code).attributes;
        auto const has = [&](program::AttributeName name) { return std::ranges::find(names, name) != names.end(); };
        auto const axis = static_cast<int>(below(shape.rank()));
        if (has(program::AttributeName::axis)) out = out.with(program::AttributeName::axis, axis);
        if (has(program::AttributeName::size))
            out = out.with(program::AttributeName::size, shape[axis] % 2 == 0 ? shape[axis] / 2 : shape[axis]);
        if (has(program::AttributeName::low)) out = out.with(program::AttributeName::low, below(3));
        if (has(program::AttributeName::by))
            out = out.with(program::AttributeName::by, std::vector{0.5 - static_cast<double>(below(3))});
        if (has(program::AttributeName::over) && chance(50)) out = out.with(program::AttributeName::over, 3);
        if (has(program::AttributeName::shape)) out = out.with(program::AttributeName::shape, other_shape(shape));
        if (has(program::AttributeName::from)) {
            auto const size = shape[axis];
            auto const from = below(size);
            out = out.with(program::AttributeName::from, chance(50) ? from : from - size);
            if (chance(70)) out = out.with(program::AttributeName::to, from + 1 + below(size - from));
        }
        if (has(program::AttributeName::dtype)) out = out.with(program::AttributeName::dtype, 2);
        if (has(program::AttributeName::eps) && chance(50))
            out = out.with(program::AttributeName::eps, std::vector{0.25});
        return out;
    }

    /// With as many elements and dimensions: the factors of the sizes, put together in another way.
    std::vector<double> other_shape(Shape const& shape) {
        std::vector<double> out(static_cast<std::size_t>(shape.rank()), 1);
        for (auto size : shape)
            for (std::int64_t p = 2; size > 1; ++p)
                for (; size % p == 0; size /= p)
                    out[static_cast<std::size_t>(below(std::ssize(out)))] *= static_cast<double>(p);
        if (chance(30)) out.back() = -1;
        return out;
    }

    /// Adds an op on some of `from` if a few random draws find one that fits.
    void add_op(GraphBuilder& builder, std::vector<int> const& from, Kind kind) {
        if (from.empty()) return;
        auto const known = infer(builder.so_far());
        for (int draw = 0; draw < 40; ++draw) {
            auto const code = random_op(builder.so_far().level, kind);
            std::vector<int> operands;
            std::vector<Shape> shapes;
            for (int i = 0; i < info(code).inputs; ++i) {
                operands.push_back(pick(from));
                shapes.push_back(shape_of(known, operands.back()));
            }
            auto const attributes = random_attributes(code, shapes[0]);
            auto const size = attributes.whole(program::AttributeName::size, 0);
            auto const shape = info(code).shape({shapes, attributes, size, builder.so_far().schedule.loop});
            if (!shape || element_count(*shape) > largest_tensor) continue;
            builder.op(code, operands, attributes);
            return;
        }
    }

    std::vector<OpCode> only; ///< if not empty, no other op is drawn

private:
    static constexpr std::int64_t largest_tensor = 400;
    base::Rng rng_;
};

} // namespace espalier::programs
