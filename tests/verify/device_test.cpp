#include "espalier/verify/device.hpp"
#include "espalier/verify/evaluate.hpp"

#include "espalier/base/error.hpp"

#include "support/random_programs.hpp"

#include <gmock/gmock.h>

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

/// Counts what it is given.
class CountingRunner final : public DeviceRunner {
public:
    explicit CountingRunner(std::size_t& largest) : largest_(largest) {}
    std::vector<Evaluation> run(std::span<DeviceJob const> jobs) override {
        largest_ = std::max(largest_, jobs.size());
        return host_->run(jobs);
    }

private:
    std::size_t& largest_;
    std::unique_ptr<DeviceRunner> host_ = make_host_runner();
};

TEST(DeviceService, jobs_of_many_threads_come_back_to_their_owners) {
    auto const tape = compile(programs::rms_linear({2, 6, 4}), {}, Exponents::if_needed);
    std::size_t largest = 0;
    std::vector<std::unique_ptr<DeviceRunner>> runners;
    runners.push_back(std::make_unique<CountingRunner>(largest));
    std::vector<std::vector<Evaluation>> values(8);
    {
        DeviceService service(std::move(runners), {.max_batch = 5});

        std::vector<std::jthread> threads;
        for (std::uint64_t t = 0; t < values.size(); ++t)
            threads.emplace_back([&, t] {
                std::vector<DeviceJob> jobs;
                for (std::uint64_t i = 0; i < 7; ++i) jobs.push_back({&tape, {.seed = 100 * t + i}});
                values[t] = service.submit(jobs);
            });
    }

    EXPECT_LE(largest, 5u);
    for (std::uint64_t t = 0; t < values.size(); ++t)
        for (std::uint64_t i = 0; i < 7; ++i) EXPECT_EQ(values[t][i], run(tape, {.seed = 100 * t + i}));
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

} // namespace
} // namespace espalier::verify
