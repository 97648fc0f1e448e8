#pragma once

#include "espalier/codegen/gpu_text.hpp"

#include "support/gpu_halves.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>

/// Kernels of GPUs as C++: each of their threads is one of the host, and each barrier is one. Groups run in turn.
namespace espalier::gpu_shim {

/// Comes once, before all programs.
inline constexpr auto preamble = R"c(
#include <algorithm>
#include <barrier>
#include <cmath>
#include <cstring>
#include <functional>
#include <thread>
#include <vector>

static thread_local int thread_in_group;
static int group[3], barrier_left_out = -1;
static std::barrier<>* gate;
static double local_memory[1 << 15];
static void meet(int number) {
    if (number != barrier_left_out) gate->arrive_and_wait();
}
template <class Body>
static void launch(int threads, int const (&groups)[3], Body const& body) {
    for (group[0] = 0; group[0] < groups[0]; ++group[0])
        for (group[1] = 0; group[1] < groups[1]; ++group[1])
            for (group[2] = 0; group[2] < groups[2]; ++group[2]) {
                std::memset(local_memory, 0xff, sizeof local_memory); // not a number
                std::barrier<> here(threads);
                gate = &here;
                std::vector<std::thread> all;
                for (int i = 0; i < threads; ++i)
                    all.emplace_back([i, &body] {
                        thread_in_group = i;
                        body();
                    });
                for (auto& one : all) one.join();
            }
}
#define KERNEL(name, threads) static void name(TENSORS)
#define GLOBAL
#define LOCAL
#define RESTRICT
#define TILES(count) \
    static_assert((count) * sizeof(real) <= sizeof local_memory); \
    real* const tiles = (real*)local_memory
#define TID thread_in_group
#define BLOCK(a) group[a]
#define UNROLL

// Copies that are asked for are made when they are waited for, or at once: programs must be right with both.
static bool fetches_late = true;
static thread_local std::vector<std::function<void()>> asked_for;
static void fetched() {
    for (auto& copy : asked_for) copy();
    asked_for.clear();
}
template <std::size_t bytes, class To>
static void copy(To* to, To const* from) {
    static_assert(bytes % sizeof(To) == 0);
    for (std::size_t i = 0; i < bytes / sizeof(To); ++i) to[i] = from[i];
}
template <std::size_t bytes, class To>
static void fetch(To* to, To const* from) {
    if (fetches_late)
        asked_for.push_back([=] { copy<bytes>(to, from); });
    else
        copy<bytes>(to, from);
}
#define COPY_2(to, from) copy<2>(to, from)
#define COPY_4(to, from) copy<4>(to, from)
#define COPY_8(to, from) copy<8>(to, from)
#define COPY_16(to, from) copy<16>(to, from)
#define FETCH_2(to, from) copy<2>(to, from)
#define FETCH_4(to, from) fetch<4>(to, from)
#define FETCH_8(to, from) fetch<8>(to, from)
#define FETCH_16(to, from) fetch<16>(to, from)
#define FETCHED fetched();
)c";

/// Of the kind of numbers of a program.
inline constexpr auto numbers = R"c(
#ifdef DOUBLE
typedef double real;
#else
typedef float real;
#endif
typedef float input_f32, made_f32;
typedef double input_f64, made_f64;
#undef NUMBER
#define NUMBER(c) ((real)c)
#define INF INFINITY
#define EXP(x) std::exp(x)
#define SQRT(x) std::sqrt(x)
#define LOG(x) std::log(x)
#define TANH(x) std::tanh(x)
#define ERFC(x) std::erfc(x)
#define POW(x, y) std::pow(x, y)
)c";

/// With its barriers numbered from `first_barrier` on.
inline std::string kernels_with_numbered_barriers(codegen::GpuPlan const& plan, std::string const& name,
                                                  int& next_barrier) {
    auto text = codegen::gpu_kernels(plan, name);
    std::string const word = "BARRIER";
    for (auto at = text.find(word); at != text.npos; at = text.find(word, at))
        text.replace(at, word.size(), fmt::format("meet({});", next_barrier++));
    return text;
}

inline std::string source(codegen::GpuPlan const& plan, std::string const& name, int& next_barrier) {
    std::string arguments, calls;
    for (std::size_t i = 0; i < plan.plan.inputs.size(); ++i)
        arguments += fmt::format("(input_{} const*)inputs[{}], ", program::info(plan.plan.dtype).name, i);
    for (std::size_t i = 0; i < plan.plan.outputs.size(); ++i)
        arguments += fmt::format("(made_{}*)outputs[{}], ", program::info(plan.plan.dtype).name, i);
    for (std::size_t k = 0; k < plan.kernels.size(); ++k)
        calls += fmt::format("    launch({}, {{{}, {}, {}}}, [&] {{ {}_{}({}(char*)workspace); }});\n",
                             plan.kernels[k].threads, plan.kernels[k].groups[0], plan.kernels[k].groups[1],
                             plan.kernels[k].groups[2], name, k, arguments);
    return std::string(plan.plan.dtype == program::DType::f64 ? "#define DOUBLE\n" : "") + numbers +
           codegen::gpu_words() + "#undef TENSORS\n" + codegen::gpu_parameters(plan.plan) +
           kernels_with_numbered_barriers(plan, name, next_barrier) +
           fmt::format("extern \"C\" unsigned long {0}_workspace_bytes(void) {{ return {1}; }}\n"
                       "extern \"C\" int {0}(void const* const* inputs, void* const* outputs, void* workspace) {{\n{2}"
                       "    return 0;\n}}\n",
                       name, std::max<std::int64_t>(plan.plan.between_bytes, 64), calls);
}

/// A program that runs `graph` on some numbers, without the barrier that its first argument names. The second one is 1
/// if what is fetched comes as late as it may.
inline std::string racing(codegen::GpuPlan const& plan, int& barriers) {
    std::string inputs, outputs;
    for (auto const& input : plan.plan.inputs) inputs += fmt::format("{}, ", program::element_count(input.shape));
    for (auto const& shape : plan.plan.outputs) outputs += fmt::format("{}, ", program::element_count(shape));
    return std::string(preamble) + halves + source(plan, "program", barriers) +
           fmt::format(R"c(#include <cstdlib>
int main(int argc, char** argv) {{
    if (argc > 1) barrier_left_out = std::atoi(argv[1]);
    fetches_late = argc > 2 && std::atoi(argv[2]) != 0;
    std::vector<std::vector<real>> in, out;
    for (long size : {{{}}}) in.emplace_back(size, (real)0.5);
    for (long size : {{{}}}) out.emplace_back(size);
    std::vector<void const*> inputs;
    std::vector<void*> outputs;
    for (auto& one : in) inputs.push_back(one.data());
    for (auto& one : out) outputs.push_back(one.data());
    std::vector<double> workspace(program_workspace_bytes() / sizeof(double) + 1);
    return program(inputs.data(), outputs.data(), workspace.data());
}}
)c",
                       inputs, outputs);
}

} // namespace espalier::gpu_shim
