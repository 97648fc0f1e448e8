#pragma once

#include "espalier/base/stop.hpp"
#include "espalier/codegen/package.hpp"

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>

namespace espalier::codegen {

/// What came of measuring a program.
enum class Ending : std::uint8_t {
    faster,           ///< than the input program, by more than the noise
    as_fast,          ///< within the noise
    slower,           ///< by more than the noise
    wrong,            ///< outside the tolerance, or not the same for every number of threads
    crashed,          ///< while it was checked or measured
    timed_out,        ///< ... it did not end
    does_not_compile, ///< or there is no compiler
};
inline constexpr std::array<std::string_view, 7> ending_names{"faster",  "within the noise", "slower",          "wrong",
                                                              "crashed", "timed out",        "does not compile"};
[[nodiscard]] constexpr std::string_view name(Ending verdict) {
    return ending_names[static_cast<std::size_t>(verdict)];
}
[[nodiscard]] constexpr bool is_right(Ending verdict) { return verdict <= Ending::slower; }

/// A median, and its 95 % confidence interval.
struct Interval {
    double ms = 0, low = 0, high = 0;
};

struct Measured {
    Ending verdict = Ending::crashed;
    std::string reason; ///< if it is not right: what was wrong, in a line
    Interval program = {};
    Interval input = {}; ///< of the input program, generated and measured alike, in turns with the program
    double max_error = 0;
    double tolerance = 0;
    int threads = 0;

    [[nodiscard]] double speedup() const { return input.ms / program.ms; }
};

/// Where measurements are made.
struct Machine {
    std::string host;
    std::string cpu;
    int cores = 0;
    std::string compiler;
};
/// Throws InputError if there is no compiler: the environment variable CXX, or c++.
[[nodiscard]] Machine this_machine();

struct MeasureOptions {
    std::string target{};          ///< one of targets(); empty: the CPU
    double seconds = 1;            ///< of measuring, beside compiling and checking
    int threads = 0;               ///< 0: one for each core
    double limit_seconds = 120;    ///< then it has timed out
    std::filesystem::path cache{}; ///< of what was compiled; empty: in the user's cache folder
    base::StopToken stop{};
};
/// Compiles beforehand, so that `measure` only has to run the program. Nothing is compiled twice. Throws Stopped.
void precompile(Package const& package, MeasureOptions const& options);
/// Compiles the program and the input program, checks both against float64 and measures them in turns, all in other
/// processes. Whatever happens there becomes a verdict. Throws Stopped.
[[nodiscard]] Measured measure(Package const& package, MeasureOptions const& options);

} // namespace espalier::codegen
