#include "espalier/verify/evaluate.hpp"

#include <algorithm>

namespace espalier::verify {
namespace {

/// Calls each(base, list) for every run of the innermost dimension of a generated or gathered tile, in order.
template <class Each>
void for_each_run(Tape const& tape, std::int64_t const* starts, int dim, int rank, program::Shape const& shape,
                  std::int64_t base, Each&& each) {
    static constexpr std::int64_t one_value[1] = {0};
    if (rank == 0) return each(base, one_value);
    auto const* const list = tape.indices.data() + starts[dim];
    if (dim == rank - 1) return each(base, list);
    for (std::int64_t i = 0; i < shape[dim]; ++i)
        for_each_run(tape, starts, dim + 1, rank, shape, base + list[i], each);
}

template <class Each>
void for_each_run(Tape const& tape, TapeStep const& step, Each&& each) {
    auto const& slot = tape.slots[step.out];
    auto const rank = slot.shape.rank();
    auto const* row = tape.rows.data() + step.row;
    for (std::int64_t b = 0; b < slot.batch; ++b, row += 1 + rank)
        for_each_run(tape, row + 1, 0, rank, slot.shape, row[0], each);
}

std::int64_t run_length(program::Shape const& shape) { return shape.rank() == 0 ? 1 : shape.back(); }

void generate(Tape const& tape, TapeStep const& step, std::uint64_t seed, Tiles& out) {
    auto const n = run_length(out.shape);
    auto const tensor = static_cast<std::uint32_t>(step.input);
    auto *p = out.p.data(), *q = out.q.data();
    for_each_run(tape, step, [&](std::int64_t base, std::int64_t const* list) {
        for (std::int64_t i = 0; i < n; ++i)
            *p++ = field::random_input(seed, tensor, static_cast<std::uint64_t>(base + list[i])).p;
        if (out.has_q)
            for (std::int64_t i = 0; i < n; ++i)
                *q++ = field::random_input(seed, tensor, static_cast<std::uint64_t>(base + list[i])).q;
    });
}

void gather(Tape const& tape, TapeStep const& step, std::vector<std::uint32_t> const& from,
            std::vector<std::uint32_t>& to) {
    auto const n = run_length(tape.slots[step.out].shape);
    auto* out = to.data();
    for_each_run(tape, step, [&](std::int64_t base, std::int64_t const* list) {
        auto const* const in = from.data() + base;
        for (std::int64_t i = 0; i < n; ++i) *out++ = in[list[i]];
    });
}

void trim(Tape const& tape, TapeStep const& step, Tiles& tiles) {
    std::int64_t outer = 1, inner = 1;
    for (int d = 0; d < tiles.shape.rank(); ++d)
        if (d != step.dimension) (d < step.dimension ? outer : inner) *= tiles.shape[d];
    auto const along = tiles.shape[step.dimension];
    for (std::int64_t b = 0; b < tiles.batch; ++b) {
        auto const there = std::min(tape.rows[static_cast<std::size_t>(step.row + b)], along);
        for (std::int64_t o = 0; o < outer && there < along; ++o) {
            auto const first = ((b * outer + o) * along + there) * inner, count = (along - there) * inner;
            std::fill_n(tiles.p.begin() + first, count, 0u);
            if (tiles.has_q) std::fill_n(tiles.q.begin() + first, count, 0u);
        }
    }
}

Tiles empty_tiles(Slot const& slot) {
    Tiles out{slot.shape, slot.batch, slot.has_q, {}, {}};
    out.p.resize(static_cast<std::size_t>(slot.size()));
    if (slot.has_q) out.q.resize(out.p.size());
    return out;
}

bool is_as_planned(Tiles const& tiles, Slot const& slot) {
    return tiles.shape == slot.shape && tiles.batch == slot.batch && tiles.has_q == slot.has_q;
}

using SlotValues = base::IndexedVector<SlotId, Tiles>;

OpStatus run_step(Tape const& tape, TapeStep const& step, field::Model const& model, std::uint64_t seed,
                  SlotValues& values) {
    auto& out = values[step.out];
    if (step.kind == TapeStep::Kind::op) {
        std::array<Tiles const*, program::max_inputs> operands{};
        for (std::size_t i = 0; i < step.operands.size(); ++i) operands[i] = &values[step.operands[i]];
        return evaluate_op({.row = info(step.code),
                            .attributes = step.attributes,
                            .model = model,
                            .operands = std::span(operands).first(step.operands.size()),
                            .loop = step.loop,
                            .count = step.count},
                           out);
    }
    if (step.kind == TapeStep::Kind::trim) {
        out = values[step.source];
        trim(tape, step, out);
        return OpStatus::done;
    }
    out = empty_tiles(tape.slots[step.out]);
    if (step.kind == TapeStep::Kind::generate) {
        generate(tape, step, seed, out);
        return OpStatus::done;
    }
    auto const& from = values[step.source];
    gather(tape, step, from.p, out.p);
    if (out.has_q) gather(tape, step, from.q, out.q);
    return OpStatus::done;
}

} // namespace

Evaluation run(Tape const& tape, Draw const& draw, base::StopToken stop) {
    if (tape.has_no_exponent) return {OpStatus::no_exponent, {}};
    auto const model = field::make_model(draw.seed, draw.roots, tape.has_q);
    SlotValues values(tape.slots.size());
    for (auto const& step : tape.steps) {
        stop.check();
        auto const status = run_step(tape, step, model, draw.seed, values);
        if (status != OpStatus::done) return {status, {}};
        ESP_ASSERT(is_as_planned(values[step.out], tape.slots[step.out]));
        for (auto const id : step.ends_life_of) values[id] = {};
    }
    Evaluation out;
    for (auto const id : tape.outputs) out.outputs.push_back(values[id]);
    return out;
}

} // namespace espalier::verify
