#include "espalier/codegen/program_text.hpp"

#include "step_text.hpp"
#include "texts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <set>

namespace espalier::codegen {
namespace {

using program::element_count;

/// How targets differ beside their preludes.
struct Dialect {
    std::int64_t offset_factor = 1; ///< of the workspace: how much wider its numbers are
};

std::set<std::size_t> buffers_of(Kernel const& kernel) {
    std::set<std::size_t> out;
    for (auto const* steps : {&kernel.in_loop, &kernel.after})
        for (auto const& step : *steps) {
            for (auto const* sources : {&step.reads, &step.factor})
                for (auto const& source : *sources) out.insert(source.view.buffer);
            for (auto const& view : step.scratch) out.insert(view.buffer);
            out.insert(step.target.buffer);
        }
    return out;
}

std::string declaration(Buffer const& buffer, Dialect const& dialect) {
    auto const dtype = program::info(buffer.dtype).name;
    switch (buffer.home) {
    case Home::input:
        return fmt::format("input_{0} const* const {1} = (input_{0} const*)inputs[{2}];", dtype, buffer.name,
                           buffer.argument);
    case Home::output:
        return fmt::format("made_{0}* const {1} = (made_{0}*)outputs[{2}];", dtype, buffer.name, buffer.argument);
    case Home::between:
        return fmt::format("made_{0}* const {1} = (made_{0}*)(work + {2}L);", dtype, buffer.name,
                           buffer.offset * dialect.offset_factor);
    case Home::tile:
        return fmt::format("real* const {} = tiles + {}L; // {}", buffer.name, buffer.offset, to_text(buffer.shape));
    }
    return {};
}

void declare(Kernel const& kernel, Plan const& plan, Dialect const& dialect, bool are_tiles, Lines& out) {
    for (auto const i : buffers_of(kernel))
        if ((plan.buffers[i].home == Home::tile) == are_tiles) out.add(declaration(plan.buffers[i], dialect));
}

void print_block(Kernel const& kernel, Plan const& plan, Lines& out) {
    auto const is_loop = kernel.loop > 1; // else views of later steps may refer to its one step
    is_loop ? out.open(fmt::format("for (long s = 0; s < {}; ++s)", kernel.loop))
            : out.add("long const s = 0; (void)s;");
    for (auto const& step : kernel.in_loop) print_step(step, plan.buffers, false, out);
    if (is_loop) out.close();
    for (auto const& step : kernel.after) print_step(step, plan.buffers, false, out);
}

void print_grid(Kernel const& kernel, Plan const& plan, Dialect const& dialect, Lines& out) {
    auto const& [x, y, z] = kernel.grid;
    out.directive("#pragma omp parallel");
    out.open("");
    out.add(fmt::format("real* const tiles = (real*)(work + {}L) + thread_number() * {}L;",
                        plan.between_bytes * dialect.offset_factor, plan.tile_elements()));
    declare(kernel, plan, dialect, true, out);
    out.directive("#pragma omp for collapse(3) schedule(static)");
    out.add(fmt::format("for (long x = 0; x < {}; ++x)", x));
    out.add(fmt::format("for (long y = 0; y < {}; ++y)", y));
    out.open(fmt::format("for (long z = 0; z < {}; ++z)", z));
    print_block(kernel, plan, out);
    out.close();
    out.close();
}

void print_kernel(std::size_t number, Plan const& plan, Dialect const& dialect, Lines& out) {
    auto const& kernel = plan.kernels[number];
    out.add("// " + kernel.what);
    out.open(fmt::format("static void kernel_{}(void const* const* inputs, void* const* outputs, char* work)", number));
    out.add("(void)inputs, (void)outputs, (void)work;");
    declare(kernel, plan, dialect, false, out);
    if (kernel.is_blocked)
        print_grid(kernel, plan, dialect, out);
    else
        for (auto const& step : kernel.after) print_step(step, plan.buffers, true, out);
    out.close();
}

std::string kernels(Plan const& plan, Dialect const& dialect) {
    Lines out;
    for (std::size_t i = 0; i < plan.kernels.size(); ++i) print_kernel(i, plan, dialect, out);
    return out.text();
}
std::string calls(Plan const& plan) {
    std::string out;
    for (std::size_t i = 0; i < plan.kernels.size(); ++i)
        out += fmt::format("    kernel_{}(inputs, outputs, (char*)workspace);\n", i);
    return out;
}

bool has_products(Plan const& plan) {
    auto const is_one = [](Step const& step) { return step.product.rows > 0; };
    return std::ranges::any_of(plan.kernels, [&](Kernel const& kernel) {
        return std::ranges::any_of(kernel.in_loop, is_one) || std::ranges::any_of(kernel.after, is_one);
    });
}

/// Packs an input: panels of columns, each row after row; the last panel is filled up with zeros.
std::string pack_case(Buffer const& buffer) {
    auto const& shape = buffer.shape;
    auto const columns = shape.back(), rows = shape[shape.rank() - 2];
    auto const matrices = element_count(shape) / (rows * columns);
    auto const type = type_name(buffer);
    Lines out;
    out.open(fmt::format("if (input == {})", buffer.argument));
    out.add(fmt::format("{0}* const packed = ({0}*)to;", type));
    out.directive("#pragma omp parallel for collapse(2)");
    out.add(fmt::format("for (long m = 0; m < {}; ++m)", matrices));
    out.add(fmt::format("    for (long n = 0; n < {}; n += {})", columns, buffer.panel));
    out.add(fmt::format("        for (long k = 0; k < {}; ++k)", rows));
    out.add(fmt::format("            for (long i = 0; i < {}; ++i)", buffer.panel));
    out.add(fmt::format("                packed[m * {}L + n * {}L + k * {} + i] =", buffer.elements() / matrices, rows,
                        buffer.panel));
    auto const from = fmt::format("(({} const*)from)[m * {}L + k * {}L + n + i]", type, rows * columns, columns);
    out.add(columns % buffer.panel == 0
                ? fmt::format("                    {};", from)
                : fmt::format("                    n + i < {} ? {} : {}{{}};", columns, from, type));
    out.close();
    return out.text();
}
std::string pack_text(Plan const& plan, std::string const& name) {
    std::string sizes, packs;
    for (auto const& buffer : plan.buffers) {
        if (buffer.panel == 0) continue;
        sizes += fmt::format("    if (input == {}) return {}ul;\n", buffer.argument,
                             buffer.elements() * program::info(buffer.dtype).size_bytes);
        packs += pack_case(buffer);
    }
    return fmt::format("\nextern \"C\" unsigned long {0}_packed_bytes(int input) {{\n    (void)input;\n{1}    return "
                       "0;\n}}\nextern \"C\" void {0}_pack(int input, void const* from, void* to) {{\n    (void)input, "
                       "(void)from, (void)to;\n{2}}}\n",
                       name, sizes, packs);
}

} // namespace

std::string cpu_source(Plan const& plan, std::string const& name) {
    auto const is_double = plan.arithmetic == program::DType::f64;
    auto const element = program::info(plan.arithmetic).size_bytes;
    return fmt::format("// Compile: c++ {} -shared -fPIC -o lib{}.so {}.cpp -lm\n", compiler_flags, name, name) +
           (is_double ? "#define DOUBLE\n" : "") + std::string(cpu_prelude()) + std::string(conversions_text()) +
           std::string(functions_text()) + (has_products(plan) ? std::string(product_text()) : std::string()) +
           std::string(threads_text()) + "\n" + kernels(plan, {}) + pack_text(plan, name) +
           fmt::format(
               "\nextern \"C\" unsigned long {}_workspace_bytes(void) {{ return {}ul + {}ul * thread_count(); }}\n",
               name, plan.between_bytes, plan.tile_elements() * element) +
           fmt::format(
               "extern \"C\" int {}(void const* const* inputs, void* const* outputs, void* workspace) {{\n{}    "
               "return 0;\n}}\n",
               name, calls(plan));
}

std::string c_header(Plan const& plan, std::string const& name) {
    auto text = fmt::format("#pragma once\n\n#include <stddef.h>\n\n#ifdef __cplusplus\nextern \"C\" {{\n#endif\n\n"
                            "/* All tensors are {}, row-major and dense. */\n",
                            program::info(plan.dtype).name);
    for (std::size_t i = 0; i < plan.inputs.size(); ++i)
        text += fmt::format("/* inputs[{}]: {} {}, {} bytes{} */\n", i, comment_text(plan.inputs[i].name),
                            to_text(plan.inputs[i].shape), plan.bytes_of(plan.inputs[i].shape),
                            plan.buffers[i].panel > 0 ? fmt::format(", as {}_pack() leaves it", name) : "");
    for (std::size_t i = 0; i < plan.outputs.size(); ++i)
        text += fmt::format("/* outputs[{}]: {}, {} bytes */\n", i, to_text(plan.outputs[i]),
                            plan.bytes_of(plan.outputs[i]));
    return text + fmt::format(R"c(
/* What the workspace must have, for as many threads as OpenMP would use now. Align it to 64 bytes. */
unsigned long {0}_workspace_bytes(void);
/* Weights are packed once, before all calls: bytes of inputs[input] when it is packed, 0 if it is taken as it is. */
unsigned long {0}_packed_bytes(int input);
void {0}_pack(int input, void const* from, void* to);
/* 0 if it ran. Not two calls at a time on one workspace. The same bits for any number of threads. */
int {0}(void const* const* inputs, void* const* outputs, void* workspace);

#ifdef __cplusplus
}}
#endif
)c",
                              name);
}

std::string reference_source(Plan const& plan) {
    Dialect const wide{.offset_factor = 8}; // two doubles for a number of two bytes
    return std::string(reference_prelude()) + kernels(plan, wide) +
           fmt::format(
               "\nstatic void reference(double const* const* tensors, Real* const* results) {{\n"
               "    void const* const* const inputs = (void const* const*)tensors;\n"
               "    void* const* const outputs = (void* const*)results;\n"
               "    void* const workspace = allocate({}ul + {}ul * thread_count());\n{}    release(workspace);\n}}\n",
               plan.between_bytes * wide.offset_factor, plan.tile_elements() * 16, calls(plan));
}

} // namespace espalier::codegen
