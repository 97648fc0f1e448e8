#include "verifier.hpp"

#include "programs.hpp"

#include <gmock/gmock.h>

#include <functional>

/// A device decides what the threads would have decided, and gets the candidates of a batch together.
namespace espalier::problems::mugraph {
namespace {

/// The code of a device on the host; notes how many jobs it is given at a time.
class CountingRunner final : public verify::DeviceRunner {
public:
    CountingRunner(std::vector<std::size_t>& batches, std::function<void()> then) : batches_(batches), then_(then) {}
    std::vector<verify::Evaluation> run(std::span<verify::DeviceJob const> jobs) override {
        batches_.push_back(jobs.size());
        then_();
        return host_->run(jobs);
    }

private:
    std::vector<std::size_t>& batches_;
    std::function<void()> then_;
    std::unique_ptr<verify::DeviceRunner> host_ = verify::make_host_runner();
};

std::unique_ptr<verify::DeviceService> counting_device(
    std::vector<std::size_t>& batches, std::function<void()> then = [] {}) {
    std::vector<std::unique_ptr<verify::DeviceRunner>> runners;
    runners.push_back(std::make_unique<CountingRunner>(batches, std::move(then)));
    return std::make_unique<verify::DeviceService>(std::move(runners), verify::DeviceService::Options{});
}

MugraphConfig small_search() {
    using enum program::OpCode;
    auto config = mirage("rmsnorm_linear", {2, 512, 512});
    config.space.kernel_ops = {matmul};
    config.space.block_ops = {matmul, div, accumulate, accumulate_rms}; // each may help, so that none is dropped
    return config;
}

/// Every complete program of a small search.
struct Bench {
    MugraphConfig config = small_search();
    mugraph::Setup setup{Target(config.program), make_space(config), config.prune, 1, &config.hardware};
    Mugraph problem{config, {}, 1};
    std::vector<Node> nodes{};

    Bench() {
        toys::Walker<Mugraph>(problem).run([&](Node const& node) {
            if (node.is_sized) nodes.push_back(node);
        });
    }
};

TEST(VerifyOnDevice, gives_the_same_verdicts_and_hands_a_batch_over_at_once) {
    Bench const bench;
    auto const& [config, setup, problem, nodes] = bench;
    search::Notes notes(problem.info());
    Explorer explorer(setup, notes);
    std::vector<std::size_t> batches;
    FormMemo forms, forms_on_device;

    auto const alone = Verifier(setup.target, setup.space, {.config = {}}).verify_all(nodes, explorer, forms);
    Verifier const on_device(setup.target, setup.space, {.config = {}, .device = counting_device(batches)});
    auto const together = on_device.verify_all(nodes, explorer, forms_on_device);

    ASSERT_GT(nodes.size(), 5u);
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        EXPECT_EQ(together[i].judgement, alone[i].judgement) << i;
        EXPECT_EQ(together[i].error_bound, alone[i].error_bound) << i;
        EXPECT_EQ(together[i].graph, alone[i].graph) << i;
    }
    EXPECT_THAT(batches, testing::Contains(nodes.size())) << "all candidates at their real shape";
    EXPECT_GT(forms_on_device.size(), 1u);
    EXPECT_EQ(batches.front(), forms_on_device.size()) << "all forms at their shrunk shape, each once";
}

TEST(VerifyOnDevice, a_stop_between_two_submissions_decides_nothing) {
    Bench const bench;
    std::atomic<bool> has_stopped{false};
    search::Notes stopping(bench.problem.info(), base::StopToken(has_stopped));
    Explorer explorer(bench.setup, stopping);
    FormMemo forms;
    std::vector<std::size_t> batches;
    Verifier const on_device(bench.setup.target, bench.setup.space,
                             {.config = {}, .device = counting_device(batches, [&] { has_stopped = true; })});

    EXPECT_THROW((void)on_device.verify_all(bench.nodes, explorer, forms), base::Stopped);

    EXPECT_THAT(batches, testing::SizeIs(1)) << "nothing is submitted any more";
    EXPECT_THAT(forms, testing::IsEmpty()) << "nothing of it is kept";
}

} // namespace
} // namespace espalier::problems::mugraph
