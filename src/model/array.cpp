#include "array.hpp"

#include "espalier/base/error.hpp"
#include "espalier/program/dtype.hpp"
#include "espalier/program/rounding.hpp"

#include <cmath>
#include <cstring>

namespace espalier::model {
namespace {

using program::FloatFormat;

FloatFormat const& format_of(Element element) {
    using program::DType;
    auto const dtype = element == Element::f16    ? DType::f16
                       : element == Element::bf16 ? DType::bf16
                       : element == Element::f32  ? DType::f32
                                                  : DType::f64;
    return program::info(dtype).format;
}

/// Numbers of 16 bits: sign, exponent, digits without the leading one.
double from_bits(FloatFormat const& format, std::uint16_t bits) {
    auto const fraction_bits = format.precision - 1;
    auto const exponent_mask = (1 << (15 - fraction_bits)) - 1;
    auto const exponent = (bits >> fraction_bits) & exponent_mask;
    auto const fraction = bits & ((1 << fraction_bits) - 1);
    double magnitude = 0;
    if (exponent == exponent_mask)
        magnitude = fraction == 0 ? HUGE_VAL : std::numeric_limits<double>::quiet_NaN();
    else if (exponent == 0)
        magnitude = std::ldexp(fraction, format.min_exponent - fraction_bits);
    else
        magnitude = std::ldexp(fraction + (1 << fraction_bits), exponent + format.min_exponent - 1 - fraction_bits);
    return (bits >> 15) != 0 ? -magnitude : magnitude;
}
std::uint16_t to_bits(FloatFormat const& format, double value) {
    auto const fraction_bits = format.precision - 1;
    auto const infinite = ((1 << (15 - fraction_bits)) - 1) << fraction_bits;
    auto const sign = std::signbit(value) ? 0x8000 : 0;
    auto const magnitude = std::abs(program::round_to(format, value));
    int rest = 0;
    if (std::isnan(magnitude))
        rest = infinite | 1 << (fraction_bits - 1);
    else if (std::isinf(magnitude))
        rest = infinite;
    else if (magnitude < std::ldexp(1, format.min_exponent))
        rest = static_cast<int>(std::ldexp(magnitude, fraction_bits - format.min_exponent));
    else {
        auto const exponent = std::ilogb(magnitude);
        auto const digits = static_cast<int>(std::ldexp(magnitude, fraction_bits - exponent));
        rest = (exponent - format.min_exponent + 1) << fraction_bits | (digits - (1 << fraction_bits));
    }
    return static_cast<std::uint16_t>(sign | rest);
}

template <class T>
T element_at(Tensor const& tensor, std::size_t i) {
    T out;
    std::memcpy(&out, tensor.bytes.data() + i * sizeof(T), sizeof(T));
    return out;
}
template <class T>
void put(base::Bytes& bytes, std::size_t i, T value) {
    std::memcpy(bytes.data() + i * sizeof(T), &value, sizeof(T));
}

/// Calls `with` with a value of the type that elements have in memory; of 16-bit floats, their bits.
template <class With>
void with_type(Element element, With const& with) {
    switch (element) {
    case Element::f32:
        return with(float{});
    case Element::f64:
        return with(double{});
    case Element::u8:
    case Element::boolean:
        return with(std::uint8_t{});
    case Element::i8:
        return with(std::int8_t{});
    case Element::i16:
        return with(std::int16_t{});
    case Element::i32:
        return with(std::int32_t{});
    case Element::u32:
        return with(std::uint32_t{});
    case Element::i64:
    case Element::u64:
        return with(std::int64_t{});
    case Element::u16:
    case Element::f16:
    case Element::bf16:
        return with(std::uint16_t{});
    default:
        throw base::InputError("a tensor has elements of {} (which cannot be computed with)", info(element).name);
    }
}

} // namespace

bool is_understood(Element element) {
    return element != Element::none && element != Element::text && element != Element::c64 && element != Element::c128;
}

std::int64_t wrap(Element element, std::int64_t value) {
    if (element == Element::boolean) return value != 0 ? 1 : 0;
    std::int64_t out = value;
    with_type(element, [&](auto type) { out = static_cast<std::int64_t>(static_cast<decltype(type)>(value)); });
    return out;
}

double round_to_element(Element element, double value) {
    if (element == Element::f32) return program::round_to_f32(value);
    return element == Element::f64 ? value : program::round_to(format_of(element), value);
}

Array to_array(Tensor const& tensor) {
    Array out{.element = tensor.element, .dims = tensor.dims, .reals = {}, .wholes = {}, .texts = tensor.texts};
    if (tensor.element == Element::text) return out;
    auto const size = static_cast<std::size_t>(tensor.size());
    with_type(tensor.element, [&](auto type) {
        using T = decltype(type);
        if (tensor.bytes.size() != size * sizeof(T))
            throw base::InputError("a tensor of {} elements of {} has {} bytes (and not {})", size,
                                   info(tensor.element).name, tensor.bytes.size(), size * sizeof(T));
        auto const is_of_bits = is_real(tensor.element) && !std::is_floating_point_v<T>;
        if (is_real(tensor.element)) {
            auto const& format = format_of(tensor.element);
            out.reals.resize(size);
            for (std::size_t i = 0; i < size; ++i)
                out.reals[i] = is_of_bits ? from_bits(format, static_cast<std::uint16_t>(element_at<T>(tensor, i)))
                                          : static_cast<double>(element_at<T>(tensor, i));
            return;
        }
        out.wholes.resize(size);
        for (std::size_t i = 0; i < size; ++i) out.wholes[i] = static_cast<std::int64_t>(element_at<T>(tensor, i));
    });
    return out;
}

Tensor to_tensor(Array const& array) {
    Tensor out{.element = array.element, .dims = array.dims, .bytes = {}, .texts = array.texts};
    if (array.element == Element::text) return out;
    with_type(array.element, [&](auto type) {
        using T = decltype(type);
        auto const size = is_real(array.element) ? array.reals.size() : array.wholes.size();
        out.bytes.resize(size * sizeof(T));
        for (std::size_t i = 0; i < size; ++i) {
            if (!is_real(array.element))
                put(out.bytes, i, static_cast<T>(wrap(array.element, array.wholes[i])));
            else if constexpr (std::is_floating_point_v<T>)
                put(out.bytes, i, static_cast<T>(round_to_element(array.element, array.reals[i])));
            else
                put(out.bytes, i, to_bits(format_of(array.element), array.reals[i]));
        }
    });
    return out;
}

} // namespace espalier::model
