#include "espalier/verify/compare.hpp"
#include "espalier/verify/device.hpp"
#include "espalier/verify/evaluate.hpp"

#include "espalier/base/error.hpp"

#include "support/random_programs.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <barrier>
#include <thread>

namespace espalier::verify {
namespace {

using programs::RandomPrograms;

TEST(Device, its_code_on_the_host_gives_the_same_values) {
    RandomPrograms random(base::Seed{4});
    auto const runner = make_host_runner();
    for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
        auto const tape = compile(random.next(), {}, seed % 3 ? Exponents::if_needed : Exponents::always);
        Draw const draw{seed, seed % 2 ? field::Roots::power : field::Roots::random_function};

        ASSERT_EQ(runner->run(std::vector{DeviceJob{&tape, draw}})[0], run(tape, draw)) << "program " << seed;
    }
}

TEST(Device, a_gpu_gives_the_same_values) {
    auto const runners = make_cuda_runners();
    if (runners.empty()) GTEST_SKIP() << why_no_device();
    RandomPrograms random(base::Seed{5});
    std::vector<Tape> tapes;
    for (int i = 0; i < 1000; ++i) tapes.push_back(compile(random.next(), {}, Exponents::if_needed));
    std::vector<DeviceJob> jobs;
    for (auto const& tape : tapes) jobs.push_back({&tape, {.seed = jobs.size()}});

    for (auto const& runner : runners) {
        auto const values = runner->run(jobs);

        for (std::size_t i = 0; i < jobs.size(); ++i)
            ASSERT_EQ(values[i], run(tapes[i], jobs[i].draw)) << "program " << i;
    }
}

TEST(Device, a_reason_is_given_if_and_only_if_there_is_none) {
    EXPECT_EQ(why_no_device().empty(), !make_cuda_runners().empty());
    EXPECT_EQ(why_no_device().empty(), DeviceService::make({}).has_value());
}

/// Notes how many jobs it is given at a time.
class CountingRunner final : public DeviceRunner {
public:
    explicit CountingRunner(std::vector<std::size_t>& batches) : batches_(batches) {}
    std::vector<Evaluation> run(std::span<DeviceJob const> jobs) override {
        batches_.push_back(jobs.size());
        return host_->run(jobs);
    }

private:
    std::vector<std::size_t>& batches_;
    std::unique_ptr<DeviceRunner> host_ = make_host_runner();
};

/// One device; `batches` tells what it was given once the service is gone or nobody submits.
DeviceService counting_service(std::vector<std::size_t>& batches, DeviceService::Options const& options) {
    std::vector<std::unique_ptr<DeviceRunner>> runners;
    runners.push_back(std::make_unique<CountingRunner>(batches));
    return {std::move(runners), options};
}

/// So long that a test which waits for it never ends.
constexpr std::chrono::hours for_ever{24};

TEST(DeviceService, jobs_of_many_threads_come_back_to_their_owners) {
    auto const tape = compile(programs::rms_linear({2, 6, 4}), {}, Exponents::if_needed);
    std::vector<std::size_t> batches;
    std::vector<std::vector<Evaluation>> values(8);
    {
        auto service = counting_service(batches, {.max_batch = 5});

        std::vector<std::jthread> threads;
        for (std::uint64_t t = 0; t < values.size(); ++t)
            threads.emplace_back([&, t] {
                std::vector<DeviceJob> jobs;
                for (std::uint64_t i = 0; i < 7; ++i) jobs.push_back({&tape, {.seed = 100 * t + i}});
                values[t] = service.submit(jobs);
            });
    }

    EXPECT_LE(std::ranges::max(batches), 5u);
    for (std::uint64_t t = 0; t < values.size(); ++t)
        for (std::uint64_t i = 0; i < 7; ++i) EXPECT_EQ(values[t][i], run(tape, {.seed = 100 * t + i}));
}

TEST(DeviceService, begins_at_once_if_nobody_else_is_expected) {
    auto const tape = compile(programs::rms_linear({2, 6, 4}), {}, Exponents::if_needed);
    std::vector<std::size_t> batches;
    auto service = counting_service(batches, {.max_wait = for_ever});

    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
        DeviceService::Expected const expected(service); // it waits itself then, and for nobody else
        EXPECT_EQ(service.submit(std::vector{DeviceJob{&tape, {.seed = seed}}})[0], run(tape, {.seed = seed}));
    }

    EXPECT_THAT(batches, testing::ElementsAre(1, 1, 1));
}

TEST(DeviceService, begins_when_all_who_are_expected_have_submitted) {
    auto const tape = compile(programs::rms_linear({2, 6, 4}), {}, Exponents::if_needed);
    std::vector<std::size_t> batches;
    auto service = counting_service(batches, {.max_wait = for_ever});
    std::barrier together(4);

    {
        std::vector<std::jthread> threads;
        for (std::uint64_t t = 0; t < 4; ++t)
            threads.emplace_back([&, t] {
                DeviceService::Expected const expected(service);
                together.arrive_and_wait();
                for (std::uint64_t round = 0; round < 3; ++round) {
                    std::vector<DeviceJob> const jobs(8, DeviceJob{&tape, {.seed = 10 * t + round}});
                    EXPECT_EQ(service.submit(jobs)[7], run(tape, jobs[7].draw));
                    together.arrive_and_wait();
                }
            });
    }

    EXPECT_THAT(batches, testing::ElementsAre(32, 32, 32));
}

TEST(DeviceService, does_not_wait_for_who_is_not_coming_any_more) {
    auto const tape = compile(programs::rms_linear({2, 6, 4}), {}, Exponents::if_needed);
    std::vector<std::size_t> batches;
    auto service = counting_service(batches, {.max_wait = for_ever});
    std::optional<DeviceService::Expected> expected(service);

    std::jthread submitting([&] { static_cast<void>(service.submit(std::vector<DeviceJob>(2, {&tape, {}}))); });
    expected.reset();
    submitting.join();

    EXPECT_THAT(batches, testing::ElementsAre(2));
}

class FailingRunner final : public DeviceRunner {
public:
    std::vector<Evaluation> run(std::span<DeviceJob const>) override { throw base::SystemError("the device is lost"); }
};

TEST(DeviceService, a_submitter_gets_the_error_of_the_device) {
    auto const tape = compile(programs::rms_linear({2, 6, 4}), {}, Exponents::if_needed);
    std::vector<std::unique_ptr<DeviceRunner>> runners;
    runners.push_back(std::make_unique<FailingRunner>());
    DeviceService service(std::move(runners), {});

    EXPECT_THROW(static_cast<void>(service.submit(std::vector{DeviceJob{&tape, {}}})), base::SystemError);
}

/// Five right ones, two wrong ones, and others whose shapes say so already.
TEST(CompareAll, says_what_compare_says_and_hands_every_round_over_at_once) {
    RandomPrograms random(base::Seed{6});
    auto const reference = programs::rms_linear({2, 12, 10});
    auto const variant = [](programs::FusedOptions const& options) {
        return programs::fused_rms_linear({2, 12, 10}, {5, 3}, options);
    };
    std::vector<program::Graph> candidates(5, variant({}));
    candidates.push_back(variant({.norm_accumulator = programs::OpCode::accumulate_sum}));
    candidates.push_back(variant({.divides_norm = true}));
    for (int i = 0; i < 40; ++i) candidates.push_back(random.next());
    std::vector<program::Graph const*> borrowed;
    for (auto const& candidate : candidates) borrowed.push_back(&candidate);
    std::vector<std::size_t> batches;
    auto service = counting_service(batches, {.max_wait = for_ever});

    auto const together = Reference(reference, {.tests = 3, .device = &service}).compare_all(borrowed);

    Reference const alone(reference, {.tests = 3});
    for (std::size_t i = 0; i < candidates.size(); ++i) EXPECT_EQ(together[i], alone.compare(candidates[i])) << i;
    EXPECT_THAT(batches, testing::ElementsAre(7, 5, 5)) << "a round a test, without those that are refuted";
}

} // namespace
} // namespace espalier::verify
