#include "inversion.hpp"
#include "op_access.hpp"

#include "espalier/verify/constants.hpp"

#include <optional>

namespace espalier::verify {
namespace {

using field::Element;
using field::Fp;
using field::Fq;
using Plane = std::vector<std::uint32_t>;

enum class Summand : std::uint8_t { value, square };

/// out[block, outer, inner] = sum over step and i of in[block, step, outer, i, inner].
struct Sum {
    std::int64_t blocks = 1, steps = 1, outer = 1, repeats = 1, inner = 1;
    std::int64_t there = 0; ///< how many of the values that go into one exist; 0: all

    [[nodiscard]] std::int64_t result_size() const { return blocks * outer * inner; }
    /// How many values go into one.
    [[nodiscard]] std::uint64_t count() const {
        return static_cast<std::uint64_t>(there > 0 ? there : steps * repeats);
    }
};

/// Values before and after the axis and along it.
Sum along_axis(Tiles const& in, program::Attributes const& attributes) {
    auto const axis = *axis_of(attributes, in.shape);
    Sum sum{.blocks = in.batch, .repeats = in.shape[axis]};
    for (int i = 0; i < axis; ++i) sum.outer *= in.shape[i];
    for (int i = axis + 1; i < in.shape.rank(); ++i) sum.inner *= in.shape[i];
    return sum;
}

Sum sum_of(OpCall const& call) {
    auto const& rule = call.row.field.reduction;
    auto const& in = call.operand(0);
    Sum sum{.inner = element_count(in.shape)};
    if (rule.over_axis) {
        sum = along_axis(in, call.attributes);
        auto const width = rule.to_size ? call.attributes.whole(program::AttributeName::size, 1) : 1;
        sum.repeats /= width;
        sum.inner *= width;
    }
    sum.steps = is_accumulator(call.row) ? call.loop : 1;
    sum.blocks = in.batch / sum.steps;
    sum.there = call.count;
    return sum;
}

template <class F, Summand What>
[[gnu::always_inline]] inline std::uint64_t summand(std::uint32_t x) {
    return What == Summand::square ? Folded<F>::mul(x, x) : x;
}

/// Adds [repeats, inner] to [inner].
template <class F, Summand What>
[[gnu::always_inline]] inline void add_run(std::uint32_t const* in, Sum const& sum, std::uint64_t* to) {
    if (sum.inner == 1) {
        std::uint64_t total = 0;
        for (std::int64_t i = 0; i < sum.repeats; ++i) total += summand<F, What>(in[i]);
        *to += total;
        return;
    }
    for (std::int64_t i = 0; i < sum.repeats; ++i, in += sum.inner)
        for (std::int64_t j = 0; j < sum.inner; ++j) to[j] += summand<F, What>(in[j]);
}

template <class F, Summand What>
void add_up(std::uint32_t const* in, Sum const& sum, std::uint64_t* totals) {
    for (std::int64_t block = 0; block < sum.blocks; ++block)
        for (std::int64_t step = 0; step < sum.steps; ++step)
            for (std::int64_t outer = 0; outer < sum.outer; ++outer, in += sum.repeats * sum.inner)
                add_run<F, What>(in, sum, totals + (block * sum.outer + outer) * sum.inner);
}

template <class F>
Plane summed(Plane const& in, Sum const& sum, Summand what) {
    std::vector<std::uint64_t> totals(static_cast<std::size_t>(sum.result_size())); // 2^33 values fit
    if (what == Summand::square)
        add_up<F, Summand::square>(in.data(), sum, totals.data());
    else
        add_up<F, Summand::value>(in.data(), sum, totals.data());
    Plane out(totals.size());
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = Folded<F>::reduce(totals[i]);
    return out;
}

/// The first or last of the values in the random order, with both of its parts.
void fold(OpCall const& call, Sum const& sum, Tiles& out) {
    auto const& in = call.operand(0);
    auto const is_largest = call.row.field.reduction.fold == program::Fold::largest;
    auto const element = [&](std::size_t i) { return Element{in.p[i], in.has_q ? in.q[i] : 0u}; };
    std::size_t at = 0;
    for (std::int64_t block = 0; block < sum.blocks; ++block)
        for (std::int64_t outer = 0; outer < sum.outer; ++outer)
            for (std::int64_t inner = 0; inner < sum.inner; ++inner, ++at) {
                std::optional<Element> best;
                for (std::int64_t n = 0; n < sum.steps * sum.repeats; ++n) {
                    auto const step = block * sum.steps + n / sum.repeats;
                    auto const row = (step * sum.outer + outer) * sum.repeats + n % sum.repeats;
                    auto const next = element(static_cast<std::size_t>(row * sum.inner + inner));
                    auto const is_better =
                        best && (is_largest ? is_before(call.model, *best, next) : is_before(call.model, next, *best));
                    if (!best || is_better) best = next;
                }
                out.p[at] = best->p;
                if (out.has_q) out.q[at] = best->q;
            }
}

template <class F>
Plane mean(Plane const& in, Sum const& sum, Summand what) {
    auto out = summed<F>(in, sum, what);
    auto const inverse = F::inverse(F::reduce(sum.count()));
    for (auto& value : out) value = Folded<F>::mul(value, inverse);
    return out;
}

/// The root of every value and `eps`, in place.
void take_roots(OpCall const& call, Plane& p, Plane& q) {
    auto const with_q = !q.empty();
    bool zero_divisor = false;
    auto const eps = eps_of(call.attributes);
    for (auto& value : p) value = Fp::add(value, eps.p);
    for (auto& value : q) value = Fq::add(value, eps.q);
    for (std::size_t i = 0; i < p.size(); ++i) {
        auto const root = apply(field::Scalar::sqrt, call.model, call.row.field.tag, {p[i], with_q ? q[i] : 0u}, {},
                                with_q, zero_divisor);
        p[i] = root.p;
        if (with_q) q[i] = root.q;
    }
}

/// Calls each(value, row) with the row that a value is along.
template <class Each>
void for_each_along(Plane& plane, Sum const& sum, Each&& each) {
    std::size_t at = 0;
    for (std::int64_t run = 0; run < sum.blocks * sum.outer; ++run)
        for (std::int64_t i = 0; i < sum.repeats; ++i)
            for (std::int64_t j = 0; j < sum.inner; ++j)
                each(plane[at++], static_cast<std::size_t>(run * sum.inner + j));
}

template <class F>
void subtract_mean(Plane& plane, Sum const& sum) {
    auto const means = mean<F>(plane, sum, Summand::value);
    for_each_along(plane, sum, [&](auto& value, auto row) { value = F::sub(value, means[row]); });
}

/// Whether no divisor is zero.
template <class F>
[[nodiscard]] bool divide_along(Plane& plane, Sum const& sum, Plane const& by) {
    auto const factors = inverses<F>(by);
    if (factors.empty()) return plane.empty();
    for_each_along(plane, sum, [&](auto& value, auto row) { value = Folded<F>::mul(value, factors[row]); });
    return true;
}

} // namespace

OpStatus evaluate_reduction(OpCall const& call, Tiles& out) {
    auto const& rule = call.row.field.reduction;
    auto const sum = sum_of(call);
    if (rule.fold != program::Fold::sum) {
        fold(call, sum, out);
        return OpStatus::done;
    }
    auto const what = rule.of_squares ? Summand::square : Summand::value;
    auto const& in = call.operand(0);
    out.p = rule.root_mean ? mean<Fp>(in.p, sum, what) : summed<Fp>(in.p, sum, what);
    if (out.has_q) out.q = rule.root_mean ? mean<Fq>(in.q, sum, what) : summed<Fq>(in.q, sum, what);
    if (rule.root_mean) take_roots(call, out.p, out.q);
    return OpStatus::done;
}

/// x / root of mean of x^2, where a layer norm first subtracts the mean; or the latter alone.
OpStatus evaluate_normalise(OpCall const& call, Tiles& out) {
    auto const& in = call.operand(0);
    auto const sum = along_axis(in, call.attributes);
    out.p = in.p;
    if (out.has_q) out.q = in.q;
    if (call.row.field.norm != program::Norm::rms) {
        subtract_mean<Fp>(out.p, sum);
        if (out.has_q) subtract_mean<Fq>(out.q, sum);
    }
    if (call.row.field.norm == program::Norm::center) return OpStatus::done;
    auto roots_p = mean<Fp>(out.p, sum, Summand::square);
    auto roots_q = out.has_q ? mean<Fq>(out.q, sum, Summand::square) : Plane{};
    take_roots(call, roots_p, roots_q);
    if (!divide_along<Fp>(out.p, sum, roots_p)) return OpStatus::zero_divisor;
    if (out.has_q && !divide_along<Fq>(out.q, sum, roots_q)) return OpStatus::zero_divisor;
    return OpStatus::done;
}

} // namespace espalier::verify
