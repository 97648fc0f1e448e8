#pragma once

#include "espalier/problems/mutation/arrangement.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace espalier::problems::mutation {

/// The op that multiplies the two inputs: a convolution of NCHW with OIHW, or a product of matrices.
enum class Compute : std::uint8_t { conv, matmul };

/// How a convolution walks along one axis.
struct Window {
    std::int32_t stride = 1, dilation = 1, padding = 0;

    auto operator<=>(Window const&) const = default;
};
using Windows = std::array<Window, 2>;
/// The windows that mutants may have along an axis.
[[nodiscard]] std::vector<Window> const& mutant_windows();
/// Outputs along an axis; nothing if there is none.
[[nodiscard]] std::optional<std::int32_t> output_size(std::int32_t image, std::int32_t kernel, Window const& window);

/// One compute op on two inputs.
struct LinearProgram {
    Compute compute = Compute::conv;
    std::array<Sizes, 2> inputs;
    Windows windows; ///< of a convolution

    bool operator==(LinearProgram const&) const = default;
    /// Nothing if the operands do not fit.
    [[nodiscard]] std::optional<Sizes> output() const;
};

/// Calls `tap(output element, element of the first operand, element of the second)` for every product; `program` fits.
template <class Tap>
void for_each_product(LinearProgram const& program, Tap const& tap);

/// Every element of the output, modulo 2^61 - 1.
[[nodiscard]] std::vector<std::uint64_t> evaluate(LinearProgram const& program, std::span<std::uint64_t const> first,
                                                  std::span<std::uint64_t const> second);

// Implementation.

namespace detail {

template <class Tap>
void for_each_conv_product(LinearProgram const& program, Sizes const& out, Tap const& tap) {
    auto const &x = program.inputs[0], &w = program.inputs[1];
    std::uint32_t element = 0;
    // The first element of an image's row, and of a kernel's, which one tap of the row's height reads.
    auto const row = [&](std::int32_t h, std::uint32_t image, std::uint32_t kernel, auto const& use) {
        for (std::int32_t u = 0; u < w[2]; ++u) {
            auto const y = h * program.windows[0].stride - program.windows[0].padding + u * program.windows[0].dilation;
            if (y >= 0 && y < x[2])
                use(image + static_cast<std::uint32_t>(y * x[3]), kernel + static_cast<std::uint32_t>(u * w[3]));
        }
    };
    auto const column = [&](std::int32_t v, std::uint32_t image, std::uint32_t kernel) {
        for (std::int32_t t = 0; t < w[3]; ++t) {
            auto const c = v * program.windows[1].stride - program.windows[1].padding + t * program.windows[1].dilation;
            if (c >= 0 && c < x[3])
                tap(element, image + static_cast<std::uint32_t>(c), kernel + static_cast<std::uint32_t>(t));
        }
    };
    auto const plane = static_cast<std::uint32_t>(x[2] * x[3]), patch = static_cast<std::uint32_t>(w[2] * w[3]);
    for (std::int32_t n = 0; n < out[0] * out[1]; ++n)
        for (std::int32_t at = 0; at < out[2] * out[3]; ++at, ++element)
            for (std::int32_t c = 0; c < x[1]; ++c)
                row(at / out[3], static_cast<std::uint32_t>(n / out[1] * x[1] + c) * plane,
                    static_cast<std::uint32_t>(n % out[1] * x[1] + c) * patch,
                    [&](std::uint32_t image, std::uint32_t kernel) { column(at % out[3], image, kernel); });
}

} // namespace detail

template <class Tap>
void for_each_product(LinearProgram const& program, Tap const& tap) {
    auto const out = program.output().value();
    if (program.compute == Compute::conv) return detail::for_each_conv_product(program, out, tap);
    auto const rows = static_cast<std::uint32_t>(out[0]), columns = static_cast<std::uint32_t>(out[1]),
               inner = static_cast<std::uint32_t>(program.inputs[0][1]);
    for (std::uint32_t i = 0; i < rows; ++i)
        for (std::uint32_t j = 0; j < columns; ++j)
            for (std::uint32_t k = 0; k < inner; ++k) tap(i * columns + j, i * inner + k, k * columns + j);
}

} // namespace espalier::problems::mutation
