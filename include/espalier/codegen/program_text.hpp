#pragma once

#include "espalier/codegen/plan.hpp"

#include <string>
#include <string_view>

namespace espalier::codegen {

/// A function of C++ that runs a program: `int NAME(void const* const* inputs, void* const* outputs, void* workspace)`.
/// No header is included, so that it compiles in a tenth of a second. The same bits for any number of threads.
/// What cpu_source() is compiled with. No -ffast-math, which in a shared library changes the process that loads it.
inline constexpr std::string_view compiler_flags =
    "-std=c++17 -O3 -march=native -fopenmp -fno-math-errno -fno-trapping-math";

[[nodiscard]] std::string cpu_source(Plan const& plan, std::string const& name);
/// Its declaration for C and C++, with sizes.
[[nodiscard]] std::string c_header(Plan const& plan, std::string const& name);
/// The same program in float64, value by value, with a bound on the error of programs that round: a function
/// `void reference(double const* const* inputs, Real* const* outputs)`.
[[nodiscard]] std::string reference_source(Plan const& plan);

} // namespace espalier::codegen
