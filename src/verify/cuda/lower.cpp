#include "lower.hpp"

#include <algorithm>

namespace espalier::verify::cuda {
namespace {

using field::Scalar;
using program::Access;
using program::Shape;
static_assert(max_dims == program::max_rank + 1);

/// Strides of a right-aligned operand along the batch and the dimensions of a result; 0 where it is read again.
std::array<std::int64_t, max_dims> strides_in(Shape const& operand, Shape const& out) {
    std::array<std::int64_t, max_dims> strides{};
    auto const skip = out.rank() - operand.rank();
    std::int64_t stride = 1;
    for (int i = operand.rank() - 1; i >= 0; --i) {
        strides[static_cast<std::size_t>(1 + skip + i)] = operand[i] == 1 ? 0 : stride;
        stride *= operand[i];
    }
    strides[0] = stride;
    return strides;
}

class Lowering {
public:
    explicit Lowering(Tape const& tape) : tape_(tape) { lowered_.size = tape.size; }
    Lowered run() {
        for (auto const& step : tape_.steps)
            if (step.kind == TapeStep::Kind::op)
                lower_op(step);
            else
                lower_gather(step);
        return std::move(lowered_);
    }

private:
    [[nodiscard]] Slot const& slot(SlotId id) const { return tape_.slots[id]; }
    [[nodiscard]] static Operand operand(Slot const& slot) { return {slot.offset, slot.has_q ? 1 : 0}; }
    static LoweredStep to(Slot const& out, LoweredStep::Kind kind) {
        LoweredStep step;
        step.kind = kind;
        step.out = operand(out);
        step.count = out.size();
        return step;
    }
    /// Values between the parts of a step.
    Slot scratch(Shape const& shape, Slot const& like) {
        Slot const out{shape, like.batch, like.has_q, lowered_.size};
        lowered_.size += out.size();
        return out;
    }

    void lower_gather(TapeStep const& step) {
        auto const is_input = step.kind == TapeStep::Kind::generate;
        auto const& out = slot(step.out);
        auto lowered = to(out, is_input ? LoweredStep::Kind::generate : LoweredStep::Kind::gather);
        if (is_input)
            lowered.tensor = static_cast<std::uint32_t>(step.input);
        else
            lowered.in[0] = operand(slot(step.source));
        lowered.row = step.row;
        lowered.rank = out.shape.rank();
        for (int i = 0; i < out.shape.rank(); ++i) lowered.dims[i].size = out.shape[i];
        lowered_.steps.push_back(lowered);
    }
    void lower_op(TapeStep const& step) {
        auto const& row = info(step.code);
        switch (row.field.access) {
        case Access::pointwise:
            return lower_pointwise(step, row);
        case Access::contraction:
            return lower_contraction(step, row);
        case Access::reduction:
        case Access::accumulate:
            return lower_reduction(step, row);
        case Access::normalise:
            return lower_normalise(step, row);
        case Access::graph:
            break;
        }
        ESP_ASSERT(row.field.access != Access::graph);
    }

    struct Pointwise {
        Scalar scalar{};
        std::uint32_t tag = 0;
    };
    void push_pointwise(Pointwise const& op, std::vector<Slot> const& in, Slot const& out) {
        auto step = to(out, LoweredStep::Kind::pointwise);
        step.scalar = op.scalar;
        step.tag = op.tag;
        step.is_unary = in.size() == 1;
        step.rank = 1 + out.shape.rank();
        step.dims[0].size = out.batch;
        for (int i = 0; i < out.shape.rank(); ++i) step.dims[1 + i].size = out.shape[i];
        for (std::size_t j = 0; j < in.size(); ++j) {
            step.in[j] = operand(in[j]);
            auto const strides = strides_in(in[j].shape, out.shape);
            for (int i = 0; i < step.rank; ++i) step.dims[i].stride[j] = strides[static_cast<std::size_t>(i)];
        }
        lowered_.steps.push_back(step);
    }
    void lower_pointwise(TapeStep const& step, program::OpInfo const& row) {
        std::vector<Slot> in;
        for (auto const id : step.operands) in.push_back(slot(id));
        push_pointwise({row.field.scalar, step.tag}, in, slot(step.out));
    }
    void lower_contraction(TapeStep const& step, program::OpInfo const& row) {
        auto const& shape = slot(step.out).shape;
        auto lowered = to(slot(step.out), LoweredStep::Kind::contraction);
        lowered.terms = row.field.terms;
        lowered.m = shape[shape.rank() - 2];
        lowered.n = shape.back();
        for (std::size_t i = 0; i < step.operands.size(); ++i) lowered.in[i] = operand(slot(step.operands[i]));
        for (int t = 0; t < lowered.terms; ++t)
            lowered.k[t] = slot(step.operands[static_cast<std::size_t>(t)]).shape.back();
        lowered_.steps.push_back(lowered);
    }

    /// Along an axis, down to `width` columns.
    static void set_axis(LoweredStep& step, Shape const& shape, int axis, std::int64_t width) {
        step.repeats = shape[axis] / width;
        step.outer = 1;
        step.inner = width;
        for (int i = 0; i < axis; ++i) step.outer *= shape[i];
        for (int i = axis + 1; i < shape.rank(); ++i) step.inner *= shape[i];
    }
    void lower_reduction(TapeStep const& step, program::OpInfo const& row) {
        auto const& rule = row.field.reduction;
        auto const& in = slot(step.operands[0]);
        auto lowered = to(slot(step.out), LoweredStep::Kind::reduction);
        lowered.in[0] = operand(in);
        lowered.inner = element_count(in.shape);
        if (rule.over_axis) {
            auto const width = rule.to_size ? step.attributes.whole(program::AttributeName::size, 1) : 1;
            set_axis(lowered, in.shape, *axis_of(step.attributes, in.shape), width);
        }
        lowered.steps = step.loop;
        lowered.of_squares = rule.of_squares;
        lowered.takes_mean = lowered.takes_root = rule.root_mean;
        lowered.tag = row.field.tag;
        lowered_.steps.push_back(lowered);
    }

    /// x / rms(x), or the same of x - mean(x): reductions and pointwise steps.
    void lower_normalise(TapeStep const& step, program::OpInfo const& row) {
        auto in = slot(step.operands[0]);
        auto const axis = *axis_of(step.attributes, in.shape);
        if (row.field.norm == program::Norm::layer) {
            auto const centred = scratch(in.shape, in);
            push_pointwise({Scalar::sub}, {in, push_mean(in, axis, Mean::of_values, 0)}, centred);
            in = centred;
        }
        push_pointwise({Scalar::div}, {in, push_mean(in, axis, Mean::root_of_squares, row.field.tag)}, slot(step.out));
    }
    enum class Mean { of_values, root_of_squares };
    Slot push_mean(Slot const& in, int axis, Mean mean, std::uint32_t tag) {
        auto shape = in.shape;
        shape[axis] = 1;
        auto const out = scratch(shape, in);
        auto step = to(out, LoweredStep::Kind::reduction);
        step.in[0] = operand(in);
        set_axis(step, in.shape, axis, 1);
        step.takes_mean = 1;
        step.of_squares = step.takes_root = mean == Mean::root_of_squares;
        step.tag = tag;
        lowered_.steps.push_back(step);
        return out;
    }

    Tape const& tape_;
    Lowered lowered_;
};

} // namespace

Lowered lower(Tape const& tape) { return Lowering(tape).run(); }

} // namespace espalier::verify::cuda
