#include "espalier/base/error.hpp"
#include "espalier/search/host_cores.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace espalier;
using namespace espalier::search;

namespace {

struct HostCoresTest : testing::Test {
    ~HostCoresTest() override {
        for (auto const* end : {".work", ".wish"}) std::filesystem::remove(lock.string() + end);
    }
    std::filesystem::path lock =
        std::filesystem::temp_directory_path() / ("espalier-cores-test-" + std::to_string(::getpid()));
};

} // namespace

TEST_F(HostCoresTest, one_who_measures_is_alone_among_many_who_work) {
    std::atomic<bool> is_over{false};
    std::atomic<int> working{0}, measured{0}, disturbed{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
        threads.emplace_back([&, t] {
            HostCores cores(lock);
            base::StopToken const stop(is_over);
            while (!is_over) {
                cores.share(stop);
                if (is_over) break; // it may have come back without a share
                ++working;
                std::this_thread::sleep_for(std::chrono::microseconds(100));
                --working;
                if (t >= 2) continue;
                Exclusive const alone(cores, {});
                if (working.load() > 0) ++disturbed;
                std::this_thread::sleep_for(std::chrono::microseconds(300));
                if (working.load() > 0) ++disturbed;
                if (++measured == 40) is_over = true;
            }
        });
    for (auto& thread : threads) thread.join();

    EXPECT_GE(measured.load(), 40);
    EXPECT_EQ(disturbed.load(), 0);
}

TEST_F(HostCoresTest, waiting_for_the_cores_ends_when_the_run_stops) {
    HostCores worker(lock), measurer(lock);
    worker.share({});
    std::atomic<bool> flag{true};

    EXPECT_THROW(measurer.take(base::StopToken(flag)), base::Stopped);
    measurer.share({}); // it holds nothing back
    worker.leave();
    measurer.leave();
    measurer.take({});
    worker.share(base::StopToken(flag)); // comes back at once, without a share
    measurer.give_back();
    worker.share({});
}

TEST_F(HostCoresTest, a_lock_that_cannot_be_made_says_why) {
    EXPECT_THROW(HostCores("/nonexistent/folder/lock"), base::SystemError);
}
