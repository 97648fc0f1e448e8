#pragma once

#include <string_view>

/// What the text of kernels is written in, for each kind of numbers: `real`, LOAD_, STORE_, EXP and so on.
namespace espalier::codegen {

/// f32, or f64 where DOUBLE is defined; no header is included.
[[nodiscard]] std::string_view cpu_prelude();
/// f16 and bf16 from and to f32.
[[nodiscard]] std::string_view conversions_text();
/// What of the C library is quicker as text of its own, because it becomes vectors.
[[nodiscard]] std::string_view functions_text();
/// Products of matrices in registers, for vectors of any width.
[[nodiscard]] std::string_view product_text();
/// float64 with a bound on what a program in the storage dtype may be away from it. ROUNDING is that of the arithmetic.
[[nodiscard]] std::string_view reference_prelude();

} // namespace espalier::codegen
