#include "bench_text.hpp"

#include "espalier/codegen/program_text.hpp"
#include "texts.hpp"

#include <fmt/format.h>

namespace espalier::codegen {
namespace {

std::string elements_of(std::vector<program::Shape> const& shapes) {
    std::string out;
    for (auto const& shape : shapes) out += fmt::format("{}{}", out.empty() ? "" : ", ", program::element_count(shape));
    return out;
}

/// What the harness must know about the program at hand.
std::string facts(Plan const& input, std::string const& name, std::string_view target, BenchOf where) {
    auto const& dtype = program::info(input.dtype);
    std::vector<program::Shape> shapes;
    for (auto const& one : input.inputs) shapes.push_back(one.shape);
    return fmt::format(R"c(#define TARGET "{10}"
#define IS_ON_DEVICE {11}
#define CANDIDATE {0}
#define CANDIDATE_WORKSPACE {0}_workspace_bytes
#define INPUT_PROGRAM {0}_input
#define CANDIDATE_PACKED {0}_packed_bytes
#define CANDIDATE_PACK {0}_pack
#define INPUT_PROGRAM_PACKED {0}_input_packed_bytes
#define INPUT_PROGRAM_PACK {0}_input_pack
#define INPUT_PROGRAM_WORKSPACE {0}_input_workspace_bytes
#define DEVICE_(name, what) name##_##what
#define DEVICE(name, what) DEVICE_(name, what)
#define ROUNDING {1} /* of the arithmetic */
#define DIGITS {2} /* of what is stored */
#define IS_{3}
typedef {4} Stored;
enum {{ INPUTS = {5}, OUTPUTS = {6}, KEEPS_INTEGERS = {7} }};
static long const input_elements[] = {{{8}}}, output_elements[] = {{{9}}};
extern "C" unsigned long CANDIDATE_WORKSPACE(void), INPUT_PROGRAM_WORKSPACE(void);
extern "C" unsigned long CANDIDATE_PACKED(int), INPUT_PROGRAM_PACKED(int);
extern "C" void CANDIDATE_PACK(int, void const*, void*), INPUT_PROGRAM_PACK(int, void const*, void*);
extern "C" int CANDIDATE(void const* const*, void* const*, void*), INPUT_PROGRAM(void const* const*, void* const*, void*);
)c",
                       name, input.arithmetic == program::DType::f64 ? "0x1p-53" : "0x1p-24", dtype.format.precision,
                       dtype.name,
                       dtype.size_bytes == 2   ? "unsigned short"
                       : dtype.size_bytes == 4 ? "float"
                                               : "double",
                       input.inputs.size(), input.outputs.size(), input.keeps_integers ? 1 : 0, elements_of(shapes),
                       elements_of(input.outputs), target, where == BenchOf::device ? 1 : 0);
}

} // namespace

std::string bench_source(Plan const& input, std::string const& name, std::string_view target, BenchOf where) {
    return std::string("// Checks a program against float64, and then measures it: see ./build\n"
                       "#include <math.h>\n#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n"
                       "#include <sys/mman.h>\n#include <time.h>\n#include <unistd.h>\n\n") +
           facts(input, name, target, where) + std::string(memory_text()) + "\n" + std::string(conversions_text()) +
           reference_source(input) + std::string(harness_text());
}

} // namespace espalier::codegen
