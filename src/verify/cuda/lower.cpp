#include "lower.hpp"

#include "espalier/verify/constants.hpp"

#include <algorithm>

namespace espalier::verify::cuda {
namespace {

using field::Scalar;
using program::Access;
using program::Shape;
static_assert(max_dims == program::max_rank + 2);

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

std::int64_t matrix_count(Shape const& shape) {
    std::int64_t count = 1;
    for (int i = 0; i < shape.rank() - 2; ++i) count *= shape[i];
    return count;
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
            return row.field.reduction.is_rescaled ? lower_rescaled(step, row) : lower_reduction(step, row);
        case Access::rearrange:
            return lower_moved(step, row);
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
        field::Element constant{};
    };
    void push_pointwise(Pointwise const& op, std::vector<Slot> const& in, Slot const& out) {
        auto step = to(out, LoweredStep::Kind::pointwise);
        step.scalar = op.scalar;
        step.tag = op.tag;
        step.constant = op.constant;
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
        auto const constant = has_constant(row) ? constant_of(row, step.attributes) : field::Element{};
        push_pointwise({row.field.scalar, step.tag, constant}, in, slot(step.out));
    }
    void lower_moved(TapeStep const& step, program::OpInfo const& row) {
        switch (row.field.move) {
        case program::Move::permute:
            return lower_rearranged(step);
        case program::Move::reshape:
            return lower_reshaped(step);
        case program::Move::slice:
            return lower_slice(step);
        case program::Move::concat:
            return lower_concatenation(step);
        }
    }
    void lower_slice(TapeStep const& step) {
        auto const &in = slot(step.operands[0]), &out = slot(step.out);
        auto const axis = *axis_of(step.attributes, in.shape);
        push_pointwise({Scalar::shift}, {in}, out);
        auto& lowered = lowered_.steps.back();
        auto const own = strides_in(in.shape, in.shape);
        for (int i = 0; i <= in.shape.rank(); ++i) lowered.dims[i].stride[0] = own[static_cast<std::size_t>(i)];
        lowered.in[0].offset += slice_of(step.attributes, in.shape[axis])->from * inner_size(in.shape, axis);
    }
    void lower_concatenation(TapeStep const& step) {
        auto const& out = slot(step.out);
        auto const axis = *axis_of(step.attributes, out.shape);
        auto const inner = inner_size(out.shape, axis);
        std::int64_t from = 0;
        for (auto const id : step.operands) {
            auto const& in = slot(id);
            auto like = in;
            like.has_q = out.has_q;
            like.offset = out.offset + from;
            push_pointwise({Scalar::shift}, {in}, like);
            lowered_.steps.back().part = in.shape[axis] * inner;
            lowered_.steps.back().whole = out.shape[axis] * inner;
            from += in.shape[axis] * inner;
        }
    }
    static std::int64_t inner_size(Shape const& shape, int axis) {
        std::int64_t out = 1;
        for (int i = axis + 1; i < shape.rank(); ++i) out *= shape[i];
        return out;
    }
    /// Nothing is added.
    void lower_reshaped(TapeStep const& step) {
        auto in = slot(step.operands[0]);
        in.shape = slot(step.out).shape;
        push_pointwise({Scalar::shift}, {in}, slot(step.out));
    }
    /// Nothing is added, in another order.
    void lower_rearranged(TapeStep const& step) {
        auto const &in = slot(step.operands[0]), &out = slot(step.out);
        push_pointwise({Scalar::shift}, {in}, out);
        auto& dims = lowered_.steps.back().dims;
        auto const own = strides_in(in.shape, in.shape);
        auto const order = program::permutation_of(step.attributes, in.shape.rank()).value();
        for (int i = 0; i < in.shape.rank(); ++i)
            dims[1 + i].stride[0] = own[static_cast<std::size_t>(1 + order[static_cast<std::size_t>(i)])];
    }
    void lower_contraction(TapeStep const& step, program::OpInfo const& row) {
        auto const& shape = slot(step.out).shape;
        auto lowered = to(slot(step.out), LoweredStep::Kind::contraction);
        lowered.terms = row.field.terms;
        lowered.m = shape[shape.rank() - 2];
        lowered.n = shape.back();
        for (std::size_t i = 0; i < step.operands.size(); ++i) lowered.in[i] = operand(slot(step.operands[i]));
        lowered.is_transposed = row.field.is_transposed;
        lowered.matrices = matrix_count(shape);
        for (std::size_t i = 0; i < step.operands.size(); ++i)
            lowered.matrices_in[i] = matrix_count(slot(step.operands[i]).shape);
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
        push_reduction(step, row, slot(step.operands[0]));
    }
    void push_reduction(TapeStep const& step, program::OpInfo const& row, Slot const& in) {
        auto const& rule = row.field.reduction;
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
        lowered.constant = eps_of(step.attributes);
        lowered.fold = static_cast<std::int32_t>(rule.fold);
        lowered_.steps.push_back(lowered);
    }
    /// The largest m of all steps, M; exp(m - M); x times that; and its sum.
    void lower_rescaled(TapeStep const& step, program::OpInfo const& row) {
        auto const &x = slot(step.operands[0]), &m = slot(step.operands[1]);
        auto few = m;
        few.batch /= step.loop;
        auto const largest = scratch(m.shape, few), difference = scratch(m.shape, m);
        auto fold = to(largest, LoweredStep::Kind::reduction);
        fold.in[0] = operand(m);
        fold.inner = element_count(m.shape);
        fold.steps = step.loop;
        fold.fold = 1;
        lowered_.steps.push_back(fold);
        push_pointwise({Scalar::sub}, {m, largest}, difference);
        split_batch(lowered_.steps.back(), step.loop);
        auto without_q = x;
        without_q.has_q = false;
        auto const factor = scratch(m.shape, without_q), product = scratch(x.shape, without_q);
        push_pointwise({Scalar::exp}, {difference}, factor);
        push_pointwise({Scalar::mul}, {x, factor}, product);
        push_reduction(step, row, product);
    }
    /// Blocks and steps apart; the second operand has no steps.
    static void split_batch(LoweredStep& step, std::int64_t loop) {
        for (int i = step.rank; i > 0; --i) step.dims[i] = step.dims[i - 1];
        ++step.rank;
        step.dims[0].size = step.dims[1].size / loop;
        step.dims[0].stride[0] = step.dims[1].stride[0] * loop;
        step.dims[0].stride[1] = step.dims[1].stride[1];
        step.dims[1].size = loop;
        step.dims[1].stride[1] = 0;
    }

    /// x / rms(x), or the same of x - mean(x): reductions and pointwise steps.
    void lower_normalise(TapeStep const& step, program::OpInfo const& row) {
        auto in = slot(step.operands[0]);
        auto const axis = *axis_of(step.attributes, in.shape);
        if (row.field.norm != program::Norm::rms) {
            auto const is_all = row.field.norm == program::Norm::center;
            auto const centred = is_all ? slot(step.out) : scratch(in.shape, in);
            push_pointwise({Scalar::sub}, {in, push_mean(in, axis, Mean::of_values, 0)}, centred);
            if (is_all) return;
            in = centred;
        }
        auto const root = push_mean(in, axis, Mean::root_of_squares, row.field.tag);
        lowered_.steps.back().constant = eps_of(step.attributes);
        push_pointwise({Scalar::div}, {in, root}, slot(step.out));
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
