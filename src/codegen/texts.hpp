#pragma once

#include <string_view>

/// The vocabulary of the text of kernels, for each kind of numbers (`real`, LOAD_, STORE_, EXP and so on), and all
/// other text that is emitted as it stands. The files of `text`, compiled in.
namespace espalier::codegen {

/// f32, or f64 where DOUBLE is defined; no header is included.
[[nodiscard]] std::string_view cpu_prelude();
/// f16 and bf16 from and to f32.
[[nodiscard]] std::string_view conversions_text();
/// Functions of the C library that are faster as text of our own, because it becomes vectors.
[[nodiscard]] std::string_view functions_text();
/// Products of matrices in registers, for vectors of any width.
[[nodiscard]] std::string_view product_text();
/// float64 with a bound on the error of a program in the storage dtype. ROUNDING is that of the arithmetic.
[[nodiscard]] std::string_view reference_prelude();

/// OpenCL C: half-precision numbers are loaded and stored by its own functions, which need no extension.
[[nodiscard]] std::string_view opencl_prelude();
[[nodiscard]] std::string_view cuda_prelude();
/// C++ that loads what mma_16_8_16, an instruction of tensor cores, takes from tiles in half precision.
[[nodiscard]] std::string_view tensor_cores_text();
/// Of both: sums, choices, loads and stores that are the same.
[[nodiscard]] std::string_view gpu_words_text();
/// Finds the device and keeps tensors there; and the program on tensors of the host, by those functions.
[[nodiscard]] std::string_view opencl_host_text();
[[nodiscard]] std::string_view cuda_host_text();
[[nodiscard]] std::string_view gpu_whole_text();

/// How many threads there are, and which one this is.
[[nodiscard]] std::string_view threads_text();
/// For bench: memory and threads; checks and measurements.
[[nodiscard]] std::string_view memory_text();
[[nodiscard]] std::string_view harness_text();
/// A program that measures the machine.
[[nodiscard]] std::string_view calibration_text();
/// The part of the Python module that is the same for all programs.
[[nodiscard]] std::string_view wrapper_text();
/// The part of the torch module that is the same for all programs.
[[nodiscard]] std::string_view torch_op_text();

} // namespace espalier::codegen
