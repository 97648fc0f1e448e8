#include "experiments.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

namespace espalier::config::testing {
namespace {

using Space = SpaceConfig;

std::int64_t any_count(std::int64_t high = 1'000'000'000) { return *rc::gen::inRange<std::int64_t>(0, high + 1); }

std::vector<std::int64_t> any_sizes() {
    auto out = *rc::gen::unique<std::vector<std::int64_t>>(rc::gen::inRange<std::int64_t>(1, 1'000'000));
    std::ranges::sort(out);
    return out;
}

std::optional<bool> any_choice() {
    return *rc::gen::element<std::optional<bool>>(std::nullopt, std::optional(true), std::optional(false));
}

std::vector<program::OpCode> any_ops(program::Level level) {
    std::vector<program::OpCode> out;
    for (auto const& row : program::op_table())
        if (row.at[static_cast<std::size_t>(level)] && row.code != program::OpCode::graph &&
            *rc::gen::arbitrary<bool>())
            out.push_back(row.code);
    return out;
}

/// Only what has a meaning differs from the default.
Space any_space() {
    Space out{.from = *rc::gen::element(Space::Preset::full, Space::Preset::mirage)};
    if (*rc::gen::arbitrary<bool>()) return out;
    using enum Space::Setting;
    if (out.from == Space::Preset::mirage) out.setting = *rc::gen::element(automatic, plain, attention, lora);
    out.max_kernel_ops = static_cast<std::int32_t>(any_count(64));
    out.max_block_ops = static_cast<std::int32_t>(any_count(64));
    out.max_graph_kernels = static_cast<std::int32_t>(any_count(64));
    out.max_outputs = static_cast<std::int32_t>(any_count(64));
    out.count_inputs = any_choice();
    out.loops = any_sizes();
    if (out.loops.empty()) out.max_loop = any_count();
    out.tiles = any_sizes();
    out.min_blocks = any_count(1000);
    out.max_blocks = out.min_blocks + any_count(1000);
    out.grid_dims = static_cast<std::int32_t>(any_count(3));
    out.shared_memory_bytes = *rc::gen::inRange<std::uint64_t>(1024, 1 << 20);
    out.threads = any_count(1024);
    out.liveness = any_choice();
    out.kernel_ops = any_ops(program::Level::kernel);
    out.block_ops = any_ops(program::Level::block);
    out.schedules = *rc::gen::element(Space::Schedules::automatic, Space::Schedules::all, Space::Schedules::best);
    return out;
}

double any_tera() { return *rc::gen::inRange(1, 1 << 29) / 1024.0; }
std::int32_t any_size() { return *rc::gen::inRange(1, 4097); }
std::uint64_t any_rate() { return *rc::gen::inRange<std::uint64_t>(1'000'000, 1'000'000'000'000'000); }

HardwareConfig any_hardware() {
    auto const& known = known_hardware();
    auto out = known[*rc::gen::inRange<std::size_t>(0, known.size())];
    if (*rc::gen::arbitrary<bool>()) return out;
    out.name = *rc::gen::element<std::string>("custom", "my machine", "a100", "7");
    out.launch = base::Nanoseconds(*rc::gen::inRange(0, 1'000'000));
    out.memory_bandwidth = any_rate();
    out.l2_bandwidth = any_rate();
    out.l2 = *rc::gen::inRange<std::uint64_t>(1024, 1ull << 40);
    out.matmul_tflops = {any_tera(), any_tera(), any_tera(), any_tera()};
    out.function_tops = any_tera();
    out.latency = base::Nanoseconds(*rc::gen::inRange(0, 1'000'000));
    out.sector = *rc::gen::inRange<std::uint64_t>(1, 4096);
    out.l2_access = *rc::gen::inRange<std::uint64_t>(1, 4096);
    out.matmul_shape.f16 = {any_size(), any_size(), any_size()};
    out.registers = any_size();
    return out;
}

MugraphConfig any_mugraph() {
    auto const& all = program::builtins();
    auto const& builtin = all[*rc::gen::inRange<std::size_t>(0, all.size())];
    MugraphConfig out{.builtin = std::string(builtin.name), .space = any_space(), .hardware = any_hardware()};
    for (auto const& key : builtin.keys) out.sizes.push_back(key.default_size * *rc::gen::inRange(1, 4));
    auto& heads = out.sizes;
    if (builtin.keys.size() > 2 && builtin.keys[2].name == "kv_heads") heads[2] = builtin.keys[2].default_size;
    out.program = builtin.make(out.sizes);
    out.program.dtype = *rc::gen::element(program::DType::f16, program::DType::bf16, program::DType::f32);
    out.prune = *rc::gen::element(Prune::native, Prune::z3, Prune::both, Prune::none);
    return out;
}

RC_GTEST_PROP(MugraphRoundTrip, reading_what_was_written_gives_the_same_experiment, ()) {
    RunConfig const config{.problem = problems::mugraph::problem_section().hold(any_mugraph()),
                           .results = {.path = "x"}};

    RC_ASSERT(parse(to_yaml(config)) == config);
}

RC_GTEST_PROP(MugraphRoundTrip, a_problem_in_full_has_the_text_of_the_problem, ()) {
    auto const text = problem_text(problems::mugraph::problem_section().hold(any_mugraph()));

    auto const again = parse("problem: " + text + "\nresults: {path: x}\n");

    RC_ASSERT(text.find('\n') == std::string::npos);
    RC_ASSERT(problem_text(again.problem) == text);
    RC_ASSERT(parse(to_yaml(again)) == again);
}

} // namespace
} // namespace espalier::config::testing
