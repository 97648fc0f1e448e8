// All programs on real ranks: `mpiexec -n 4` or `-n 8` runs this. Sums are compared with MPI_Allreduce, and for some
// with a closed form. Rank 0 says what is wrong and decides the code.

#include "cluster/collectives/plans.hpp"
#include "espalier/cluster/collectives/execution.hpp"

#include <fmt/core.h>

#include <cstring>

using namespace espalier;
using namespace espalier::cluster::collectives;
using reduction::Collective;

namespace {

int failures = 0;

void check(World const& world, bool is_right, std::string const& what) {
    if (is_right) return;
    ++failures;
    if (world.rank() == 0) fmt::print(stderr, "wrong: {}\n", what);
}

constexpr std::array elements{Element::f32, Element::f64, Element::i32};
constexpr std::array<std::size_t, 4> payloads{1, 7, 1000, 4097};

/// Every program with so many turns: 36 are all payloads with all types and 1 to 3 segments, fewer are a mixture.
int run_all(World& world, std::vector<int> const& sizes, Request request, std::size_t turns) {
    auto const programs = tests::all_programs({2, 2}, 5, request);
    std::size_t turn = 0;
    for (auto const& program : programs)
        for (std::size_t i = 0; i < turns; ++i, ++turn) {
            auto plan = tests::plan_of(program, sizes, request);
            auto const payload = payloads[turn % 4];
            plan.segments = static_cast<int>(turn / 4 % 3) + 1;
            auto const element = elements[(turn + turn / 12) % 3];
            auto const wrong = count_wrong(world, plan, payload, element, turn);
            check(world, wrong == 0,
                  fmt::format("{} on {} x {}, {} {}, {} segments: {} elements", plan.text, sizes.front(), sizes.back(),
                              payload, info(element).name, plan.segments, wrong));
        }
    return static_cast<int>(programs.size());
}

/// Rank r brings r + i for element i, so that the sum over n ranks is n i + n (n - 1) / 2: no MPI_Allreduce in it.
void compare_with_closed_form(World& world, std::vector<int> const& sizes) {
    auto const n = world.size();
    for (auto const& program : tests::all_programs({2, 2}, 3, Request::all_reduce)) {
        auto plan = tests::plan_of(program, sizes);
        plan.segments = 2;
        Execution const execution(world, plan, 100, Element::f64);
        std::vector<std::byte> data(execution.data_bytes()), scratch(execution.scratch_bytes());
        auto* const numbers = reinterpret_cast<double*>(data.data());
        for (int i = 0; i < 100; ++i) numbers[i] = world.rank() + i;
        execution.run(data.data(), scratch.data());
        std::uint64_t wrong = 0;
        for (int i = 0; i < 100; ++i) wrong += numbers[i] == n * i + n * (n - 1) / 2 ? 0u : 1u;
        check(world, world.sum(wrong) == 0, "closed form of " + plan.text);
    }
}

/// Two reduction groups at once, strided.
void run_two_groups(World& world) {
    Plan plan{.id = 1,
              .task = {},
              .text = "strided",
              .steps = {{Collective::reduce_scatter, {}}, {Collective::all_gather, {}}}};
    plan.groups.resize(2);
    for (int rank = 0; rank < world.size(); ++rank) plan.groups[static_cast<std::size_t>(rank % 2)].push_back(rank);
    for (auto& step : plan.steps) step.groups = plan.groups;
    check(world, count_wrong(world, plan, 1001, Element::i32, 5) == 0, "two groups");
}

/// The check can fail: a sum that is taken twice, one that is missing, one that ends early.
void find_wrong_programs(World& world, std::vector<int> const& sizes) {
    reduction::Grouping const whole{0, 2, false}, inside{1, 2, false};
    for (auto const& program :
         std::vector<reduction::Program>{{{whole, Collective::all_reduce}, {whole, Collective::all_reduce}},
                                         {{inside, Collective::all_reduce}},
                                         {{whole, Collective::reduce}},
                                         {}})
        for (auto const element : elements)
            check(world, count_wrong(world, tests::plan_of(program, sizes), 100, element, 3) > 0,
                  "a wrong one was not found");
}

/// Every algorithm that MPI can be forced to is right, and one that adds in another order rounds otherwise: forcing has
/// an effect.
void force_algorithms(World& world, std::vector<int> const& sizes) {
    auto plan = tests::plan_of({{{0, 2, false}, Collective::all_reduce}}, sizes);
    for (auto const request : {Request::all_reduce, Request::reduce_scatter, Request::all_gather}) {
        plan.request = request;
        for (auto const& forced : forced_algorithms(request))
            check(world, count_wrong(world, plan, 1000, Element::f32, 11, forced) == 0, "forced " + forced.name);
    }
    plan.request = Request::all_reduce;
    Native const native(world, plan, 10'000, Element::f32);
    std::vector<std::vector<std::byte>> found;
    for (auto const& forced : forced_algorithms(Request::all_reduce)) {
        if (!forced.name.empty() && forced.name != "nb tsp_ring") continue;
        std::vector<float> thirds(10'000);
        for (std::size_t i = 0; i < thirds.size(); ++i)
            thirds[i] = static_cast<float>(world.rank() * 7919 + 1) / (3.0f + static_cast<float>(i));
        Forcing const forcing(forced);
        native.run(reinterpret_cast<std::byte*>(thirds.data()), nullptr);
        auto& bytes = found.emplace_back(thirds.size() * sizeof(float));
        std::memcpy(bytes.data(), thirds.data(), bytes.size());
    }
    if (found.size() == 2)
        check(world, found[0] != found[1], "forcing a ring changed nothing");
    else if (world.rank() == 0)
        fmt::print("this MPI library cannot be forced: not checked\n");
}

} // namespace

int main() {
    World world(std::chrono::minutes(5));
    int count = 0;
    if (world.size() % 2 != 0 || world.size() < 4) return 2;
    std::vector<int> const sizes{2, world.size() / 2};
    std::size_t const turns = world.size() == 4 ? 36 : 8;
    count += run_all(world, sizes, Request::all_reduce, turns);
    check(world, count == 93, "the number of programs of two levels");
    if (world.size() == 8) count += run_all(world, {4, 2}, Request::all_reduce, 5);
    count += run_all(world, sizes, Request::reduce_scatter, 36);
    count += run_all(world, sizes, Request::all_gather, 36);
    compare_with_closed_form(world, sizes);
    run_two_groups(world);
    find_wrong_programs(world, sizes);
    force_algorithms(world, sizes);
    if (world.rank() == 0) fmt::print("{} programs, {} failures\n", count, failures);
    return failures == 0 ? 0 : 1;
}
