#pragma once

#include "espalier/program/op.hpp"
#include "espalier/program/rounding.hpp"

#include <cmath>
#include <vector>

namespace espalier::verify::emulated {

/// A number as it is (in 64 bits), and as a machine of fewer bits has it.
struct Number {
    double exact = 0;
    double low = 0;
};
using Numbers = std::vector<Number>;

/// How the machine computes: within an op in f32, every operation and every step of a sum rounded to the nearest; the
/// result of an op is then stored in the dtype of the program. Watches the stored values.
class Arithmetic {
public:
    explicit Arithmetic(program::DType storage) : storage_(program::info(storage).format) {}

    [[nodiscard]] static Number whole(std::int64_t n) { return made(static_cast<double>(n), static_cast<double>(n)); }
    [[nodiscard]] static Number constant(double value) { return made(value, value); }
    [[nodiscard]] static Number apply(program::RealRule rule, Number a, Number b,
                                      program::Attributes const& attributes) {
        return made(rule({a.exact, 0}, {b.exact, 0}, attributes).value, rule({a.low, 0}, {b.low, 0}, attributes).value);
    }
    [[nodiscard]] static Number product(Number a, Number b) { return made(a.exact * b.exact, a.low * b.low); }
    [[nodiscard]] static Number sum(Number a, Number b) { return made(a.exact + b.exact, a.low + b.low); }
    /// Both know the same inputs.
    [[nodiscard]] Number input(double value) const {
        auto const rounded = program::round_to(storage_, value);
        return {rounded, rounded};
    }
    [[nodiscard]] Number stored(Number value) {
        value.low = program::round_to(storage_, value.low);
        if (!std::isfinite(value.exact)) return value;
        largest_magnitude_ = std::max(largest_magnitude_, std::abs(value.exact));
        overflows_ = overflows_ || !std::isfinite(value.low);
        return value;
    }

    [[nodiscard]] double largest_magnitude() const { return largest_magnitude_; }
    /// Whether something is not finite that is finite in 64 bits.
    [[nodiscard]] bool overflows() const { return overflows_; }

private:
    static Number made(double exact, double low) { return {exact, program::round_to_f32(low)}; }

    program::FloatFormat storage_;
    double largest_magnitude_ = 0;
    bool overflows_ = false;
};

} // namespace espalier::verify::emulated
