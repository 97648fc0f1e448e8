#pragma once

#include "lowered.hpp"

/// What a device computes, one element of one step at a time; the same code on the host.
namespace espalier::verify::cuda {

/// What the steps of one job work on.
struct JobView {
    std::uint32_t* p = nullptr;
    std::uint32_t* q = nullptr;
    std::int64_t const* rows = nullptr;
    std::int64_t const* indices = nullptr;
    field::Model model;
    std::uint64_t seed = 0;
    std::int32_t* zero_divisor = nullptr; ///< set to 1; threads may all set it
};

ESP_HD inline field::Element load(JobView const& job, Operand const& from, std::int64_t i) {
    return {job.p[from.offset + i], from.has_q ? job.q[from.offset + i] : 0u};
}
ESP_HD inline void store(JobView const& job, Operand const& to, std::int64_t i, field::Element value) {
    job.p[to.offset + i] = value.p;
    if (to.has_q) job.q[to.offset + i] = value.q;
}

/// Where element i of a gathered result is in its source.
ESP_HD inline std::int64_t source_index(LoweredStep const& step, JobView const& job, std::int64_t i) {
    std::int64_t offsets[max_dims];
    for (int d = step.rank - 1; d >= 0; --d) {
        offsets[d] = i % step.dims[d].size;
        i /= step.dims[d].size;
    }
    auto const* const row = job.rows + step.row + i * (1 + step.rank);
    auto at = row[0];
    for (int d = 0; d < step.rank; ++d) at += job.indices[row[1 + d] + offsets[d]];
    return at;
}
ESP_HD inline field::Element generate(LoweredStep const& step, JobView const& job, std::int64_t i) {
    return field::random_input(job.seed, step.tensor, static_cast<std::uint64_t>(source_index(step, job, i)));
}
ESP_HD inline field::Element gather(LoweredStep const& step, JobView const& job, std::int64_t i) {
    return load(job, step.in[0], source_index(step, job, i));
}

ESP_HD inline field::Element pointwise(LoweredStep const& step, JobView const& job, std::int64_t i) {
    std::int64_t at[2] = {0, 0};
    for (int d = step.rank - 1; d >= 0; --d) {
        auto const index = i % step.dims[d].size;
        i /= step.dims[d].size;
        at[0] += index * step.dims[d].stride[0];
        at[1] += index * step.dims[d].stride[1];
    }
    auto const a = load(job, step.in[0], at[0]);
    auto const b = step.is_unary ? step.constant : load(job, step.in[1], at[1]);
    bool zero_divisor = false;
    auto const out = field::apply(step.scalar, job.model, step.tag, a, b, step.out.has_q != 0, zero_divisor);
    if (zero_divisor) *job.zero_divisor = 1;
    return out;
}

/// A sum of products modulo p or q: 2^32 products fit in the two halves.
template <class F>
struct ProductSum {
    std::uint64_t low = 0, high = 0;

    ESP_HD void add(std::uint32_t a, std::uint32_t b) {
        auto const product = static_cast<std::uint64_t>(a) * b;
        low += product & 0xFFFFFFFFull;
        high += product >> 32;
    }
    ESP_HD std::uint32_t value() const {
        auto const shift = F::reduce(std::uint64_t{1} << 32);
        return F::add(F::reduce(low), F::mul(F::reduce(high), shift));
    }
};
/// Which matrix of operand `in` goes with one of the result.
ESP_HD inline std::int64_t matrix_in(LoweredStep const& step, int in, std::int64_t matrix) {
    auto const own = step.matrices_in[in];
    return matrix / step.matrices * own + matrix % own;
}
ESP_HD inline field::Element contraction(LoweredStep const& step, JobView const& job, std::int64_t i) {
    auto const row = i / step.n % step.m, column = i % step.n, matrix = i / step.n / step.m;
    ProductSum<field::Fp> p;
    ProductSum<field::Fq> q;
    for (int t = 0; t < step.terms; ++t) {
        auto const k = step.k[t];
        auto const left = (matrix_in(step, t, matrix) * step.m + row) * k;
        auto const right = matrix_in(step, t + step.terms, matrix) * k * step.n;
        for (std::int64_t j = 0; j < k; ++j) {
            auto const a = load(job, step.in[t], left + j);
            auto const b =
                load(job, step.in[t + step.terms], right + (step.is_transposed ? column * k + j : j * step.n + column));
            p.add(a.p, b.p);
            if (step.out.has_q) q.add(a.q, b.q);
        }
    }
    return {p.value(), step.out.has_q ? q.value() : 0u};
}

ESP_HD inline field::Element divided(field::Element a, std::uint64_t count) {
    return {field::Fp::mul(a.p, field::Fp::inverse(field::Fp::reduce(count))),
            field::Fq::mul(a.q, field::Fq::inverse(field::Fq::reduce(count)))};
}
/// The element that is n-th of those that go into element i of the result.
ESP_HD inline field::Element reduced_value(LoweredStep const& step, JobView const& job, std::int64_t i,
                                           std::int64_t n) {
    auto const inner = i % step.inner, outer = i / step.inner % step.outer, block = i / step.inner / step.outer;
    auto const row = ((block * step.steps + n / step.repeats) * step.outer + outer) * step.repeats + n % step.repeats;
    return load(job, step.in[0], row * step.inner + inner);
}
ESP_HD inline field::Element extremum(LoweredStep const& step, JobView const& job, std::int64_t i) {
    auto out = reduced_value(step, job, i, 0);
    for (std::int64_t n = 1; n < step.steps * step.repeats; ++n) {
        auto const next = reduced_value(step, job, i, n);
        if (step.fold == 1 ? is_before(job.model, out, next) : is_before(job.model, next, out)) out = next;
    }
    return out;
}
ESP_HD inline field::Element reduction(LoweredStep const& step, JobView const& job, std::int64_t i) {
    if (step.fold != 0) return extremum(step, job, i);
    ProductSum<field::Fp> p;
    ProductSum<field::Fq> q;
    for (std::int64_t n = 0; n < step.steps * step.repeats; ++n) {
        auto const x = reduced_value(step, job, i, n);
        p.add(x.p, step.of_squares ? x.p : 1u);
        q.add(x.q, step.of_squares ? x.q : 1u);
    }
    field::Element out{p.value(), q.value()};
    if (step.takes_mean) out = divided(out, static_cast<std::uint64_t>(step.steps * step.repeats));
    bool zero_divisor = false;
    if (!step.takes_root) return out;
    out = {field::Fp::add(out.p, step.constant.p), field::Fq::add(out.q, step.constant.q)};
    return field::apply(field::Scalar::sqrt, job.model, step.tag, out, {}, step.out.has_q != 0, zero_divisor);
}

/// Element i of a step's result.
ESP_HD inline void compute(LoweredStep const& step, JobView const& job, std::int64_t i) {
    field::Element value;
    switch (step.kind) {
    case LoweredStep::Kind::generate:
        value = generate(step, job, i);
        break;
    case LoweredStep::Kind::gather:
        value = gather(step, job, i);
        break;
    case LoweredStep::Kind::pointwise:
        value = pointwise(step, job, i);
        break;
    case LoweredStep::Kind::contraction:
        value = contraction(step, job, i);
        break;
    case LoweredStep::Kind::reduction:
        value = reduction(step, job, i);
        break;
    }
    store(job, step.out, step.part == step.whole ? i : i / step.part * step.whole + i % step.part, value);
}

} // namespace espalier::verify::cuda
