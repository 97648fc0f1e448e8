#include "recheck.hpp"

#include "espalier/base/rng.hpp"

#include <algorithm>

namespace espalier::problems::mutation {
namespace {

struct Tensor {
    Sizes sizes;
    std::vector<std::uint64_t> values; ///< modulo 2^64

    [[nodiscard]] std::uint64_t at(Sizes const& index) const {
        std::size_t flat = 0;
        for (std::size_t i = 0; i < sizes.size(); ++i)
            flat = flat * static_cast<std::size_t>(sizes[i]) + static_cast<std::size_t>(index[i]);
        return values[flat];
    }
};

Tensor random_tensor(Sizes const& sizes, base::Rng& rng) {
    Tensor out{sizes, std::vector<std::uint64_t>(static_cast<std::size_t>(element_count(sizes)))};
    for (auto& value : out.values) value = rng();
    return out;
}

Sizes index_of(std::size_t flat, Sizes const& sizes) {
    Sizes out(sizes.size());
    for (auto i = sizes.size(); i-- > 0; flat /= static_cast<std::size_t>(sizes[i]))
        out[i] = static_cast<std::int32_t>(flat % static_cast<std::size_t>(sizes[i]));
    return out;
}

/// A tensor of those sizes, each element by its index.
template <class Element>
Tensor made(Sizes const& sizes, Element const& element) {
    Tensor out{sizes, {}};
    for (std::size_t i = 0; std::cmp_less(i, element_count(sizes)); ++i)
        out.values.push_back(element(index_of(i, sizes)));
    return out;
}

/// Axis `to` gets the digit as its high or low one.
Tensor applied(Move const& move, Tensor const& tensor) {
    if (move.is_transpose)
        return made({tensor.sizes[1], tensor.sizes[0]}, [&](Sizes const& at) { return tensor.at({at[1], at[0]}); });
    auto sizes = tensor.sizes;
    sizes[move.from] /= 2;
    auto const q = sizes[move.from], b = sizes[move.to];
    sizes[move.to] *= 2;
    return made(sizes, [&](Sizes at) {
        auto const y = at[move.to];
        auto const digit = move.to_high ? (y >= b ? 1 : 0) : y & 1;
        at[move.to] = move.to_high ? y - digit * b : y >> 1;
        at[move.from] = move.from_high ? digit * q + at[move.from] : 2 * at[move.from] + digit;
        return tensor.at(at);
    });
}

Tensor convolved(Tensor const& x, Tensor const& w, LinearProgram const& program) {
    auto const &h = program.windows[0], &v = program.windows[1];
    return made(program.output().value(), [&](Sizes const& at) {
        std::uint64_t sum = 0;
        for (std::int32_t c = 0; c < x.sizes[1]; ++c)
            for (std::int32_t i = 0; i < w.sizes[2] * w.sizes[3]; ++i) {
                auto const r = i / w.sizes[3], s = i % w.sizes[3];
                auto const y = at[2] * h.stride + r * h.dilation - h.padding,
                           z = at[3] * v.stride + s * v.dilation - v.padding;
                if (y < 0 || y >= x.sizes[2] || z < 0 || z >= x.sizes[3]) continue;
                sum += x.at({at[0], c, y, z}) * w.at({at[1], c, r, s});
            }
        return sum;
    });
}

Tensor multiplied(Tensor const& a, Tensor const& b, LinearProgram const& program) {
    return made(program.output().value(), [&](Sizes const& at) {
        std::uint64_t sum = 0;
        for (std::int32_t k = 0; k < a.sizes[1]; ++k) sum += a.at({at[0], k}) * b.at({k, at[1]});
        return sum;
    });
}

Tensor computed(LinearProgram program, Tensor const& a, Tensor const& b) {
    program.inputs = {a.sizes, b.sizes};
    return program.compute == Compute::conv ? convolved(a, b, program) : multiplied(a, b, program);
}

} // namespace

std::vector<std::uint8_t> equal_on_numbers(Mutants const& mutants, Mutant const& mutant, std::uint64_t seed) {
    base::Rng rng{base::Seed{seed}};
    auto const& original = mutants.original();
    std::array<Tensor, 2> const inputs{random_tensor(original.inputs[0], rng), random_tensor(original.inputs[1], rng)};
    auto const expected = computed(original, inputs[0], inputs[1]);
    std::array<Tensor, 2> operands;
    for (std::size_t i = 0; i < 2; ++i) {
        auto const input = Mutants::input_of(mutant, i);
        operands[i] = inputs[input];
        for (auto const move : mutant.before[i])
            operands[i] = applied(mutants.of_input(input).moves()[move], operands[i]);
    }
    auto program = original;
    program.windows = mutant.windows;
    auto result = computed(program, operands[0], operands[1]);
    for (auto i = mutant.after.size(); i-- > 0;)
        result = applied(inverse(mutants.of_output().moves()[mutant.after[i]]), result);
    std::vector<std::uint8_t> out;
    for (std::size_t i = 0; i < result.values.size(); ++i)
        out.push_back(result.values[i] == expected.values[i] ? 1 : 0);
    return out;
}

} // namespace espalier::problems::mutation
