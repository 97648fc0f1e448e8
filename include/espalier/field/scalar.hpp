#pragma once

#include "espalier/field/prime.hpp"

#include <cstdint>

namespace espalier::field {

/// How a square root is evaluated: as a power, which multiplies as roots do (sqrt x sqrt y = sqrt xy) but has no useful
/// degree; or as a random function, which has an error bound but knows no law.
enum class Roots : std::uint8_t { power, random_function };

/// What a random evaluation fixes besides its inputs.
struct Model {
    std::uint64_t key = 0;      ///< of the random functions
    std::uint32_t exp_base = 4; ///< of order q modulo p
    Roots roots = Roots::power;
    std::uint8_t has_exponents = 0; ///< whether values have a part modulo q at all
};
/// All from one seed; `exp_base` is a random element of order q.
[[nodiscard]] Model make_model(std::uint64_t seed, Roots roots, bool has_exponents);

/// One value of a tensor: modulo p and, while it may still get into an exponent, modulo q.
struct Element {
    std::uint32_t p = 0;
    std::uint32_t q = 0;

    friend bool operator==(Element const&, Element const&) = default;
};

/// The operations on single values that every op is made of. A row of the op table names one.
enum class Scalar : std::uint8_t {
    add,
    sub,
    mul,
    div,
    square,
    exp,
    sqrt,
    function,
    exp_sub, ///< exp(a - b)
    inverse,
    scale, ///< by a constant, which is the second value
    shift, ///< the same, added
    larger,
    smaller,
};

ESP_HD inline constexpr std::uint64_t mix(std::uint64_t z) {
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
}

/// A random function, fixed by model and tag, of up to two values. `with_q`: the values have their part modulo q.
ESP_HD inline constexpr Element random_function(Model const& model, std::uint32_t tag, Element a, Element b,
                                                bool with_q) {
    auto h = mix(model.key + 0x9E3779B97F4A7C15ull * (tag + 1));
    h = mix(h ^ (static_cast<std::uint64_t>(a.p) << 32 | (with_q ? a.q : 0u)));
    h = mix(h ^ (static_cast<std::uint64_t>(b.p) << 32 | (with_q ? b.q : 0u)));
    return {Fp::reduce(h), with_q ? Fq::reduce(mix(h + 0xD1B54A32D192ED03ull)) : 0u};
}

/// A field has no order of its own; this one is random, and the same for all values of a draw. It has all laws of a
/// total order, and none that tie an order to sums and products.
ESP_HD inline constexpr bool is_before(Model const& model, Element a, Element b) {
    auto const key = model.key ^ 0x8CB92BA72F3D8DD7ull;
    return mix(key + a.p) < mix(key + b.p);
}

/// A random value of an input: element `index` of tensor `tensor`.
ESP_HD inline constexpr Element random_input(std::uint64_t seed, std::uint32_t tensor, std::uint64_t index) {
    auto const h = mix(mix(seed + 0x9E3779B97F4A7C15ull * (tensor + 1)) + index * 0xD1B54A32D192ED03ull);
    return {Fp::reduce(h >> 1), Fq::reduce(mix(h ^ 0xA0761D6478BD642Full) >> 1)};
}

/// One operation on single values; `tag` names the function of Scalar::function, `b` is the constant of scale and shift. `with_q`: arguments and result have
/// their part modulo q (never the result of exp). A division by zero gives 0 and sets `zero_divisor`: draw again.
ESP_HD inline constexpr Element apply(Scalar op, Model const& model, std::uint32_t tag, Element a, Element b,
                                      bool with_q, bool& zero_divisor) {
    switch (op) {
    case Scalar::add:
        return {Fp::add(a.p, b.p), with_q ? Fq::add(a.q, b.q) : 0u};
    case Scalar::sub:
        return {Fp::sub(a.p, b.p), with_q ? Fq::sub(a.q, b.q) : 0u};
    case Scalar::mul:
        return {Fp::mul(a.p, b.p), with_q ? Fq::mul(a.q, b.q) : 0u};
    case Scalar::div:
        if (b.p == 0 || (with_q && b.q == 0)) zero_divisor = true;
        return {Fp::mul(a.p, Fp::inverse(b.p)), with_q ? Fq::mul(a.q, Fq::inverse(b.q)) : 0u};
    case Scalar::square:
        return {Fp::mul(a.p, a.p), with_q ? Fq::mul(a.q, a.q) : 0u};
    case Scalar::exp:
        return {Fp::pow(model.exp_base, a.q), 0u};
    case Scalar::exp_sub:
        return {Fp::pow(model.exp_base, Fq::sub(a.q, b.q)), 0u};
    case Scalar::sqrt:
        if (model.roots == Roots::random_function) return random_function(model, tag, a, {}, with_q);
        return {Fp::root(a.p), with_q ? Fq::root(a.q) : 0u};
    case Scalar::function:
        return random_function(model, tag, a, b, with_q);
    case Scalar::inverse:
        if (a.p == 0 || (with_q && a.q == 0)) zero_divisor = true;
        return {Fp::inverse(a.p), with_q ? Fq::inverse(a.q) : 0u};
    case Scalar::scale:
        return {Fp::mul(a.p, b.p), with_q ? Fq::mul(a.q, b.q) : 0u};
    case Scalar::shift:
        return {Fp::add(a.p, b.p), with_q ? Fq::add(a.q, b.q) : 0u};
    case Scalar::larger:
        return is_before(model, a, b) ? b : a;
    case Scalar::smaller:
        return is_before(model, b, a) ? b : a;
    }
    return {};
}

} // namespace espalier::field
