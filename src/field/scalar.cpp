#include "espalier/field/scalar.hpp"

namespace espalier::field {

Model make_model(std::uint64_t seed, Roots roots, bool has_exponents) {
    auto const key = mix(seed + 0x2545F4914F6CDD1Dull);
    std::uint32_t base = 1;
    for (std::uint64_t draw = key; base == 1; draw = mix(draw + 1)) {
        auto const r = 2 + Fp::reduce(draw) % (p - 3); // neither 0 nor 1 nor -1, so its square has order q
        base = Fp::mul(r, r);
    }
    return {key, base, roots, static_cast<std::uint8_t>(has_exponents)};
}

} // namespace espalier::field
