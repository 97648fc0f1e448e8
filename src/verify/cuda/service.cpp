#include "espalier/verify/device.hpp"

#include "espalier/base/contract.hpp"
#include "espalier/base/error.hpp"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <set>
#include <thread>

namespace espalier::verify {
namespace {

using Clock = std::chrono::steady_clock;

/// The jobs of one submit() that are not done yet. Guarded by the queue's mutex.
struct Group {
    std::vector<Evaluation> results;
    std::size_t left = 0;
    std::exception_ptr error;
    std::condition_variable is_done;
};

struct Ticket {
    DeviceJob job;
    Group* group = nullptr;
    std::size_t index = 0; ///< in the group
    Clock::time_point arrival;
};

} // namespace

class DeviceService::Queue {
public:
    Queue(std::vector<std::unique_ptr<DeviceRunner>> runners, Options const& options)
        : options_(options), runners_(std::move(runners)) {
        for (auto const& runner : runners_) threads_.emplace_back([this, &runner] { serve(*runner); });
    }
    ~Queue() {
        {
            std::lock_guard const lock(mutex_);
            is_stopping_ = true;
        }
        has_work_.notify_all();
        for (auto& thread : threads_) thread.join();
    }
    Queue(Queue const&) = delete;
    Queue& operator=(Queue const&) = delete;

    std::vector<Evaluation> submit(std::span<DeviceJob const> jobs) {
        Group group;
        group.results.resize(jobs.size());
        group.left = jobs.size();
        std::unique_lock lock(mutex_);
        auto const was_expected = expected_.erase(std::this_thread::get_id()) > 0;
        for (std::size_t i = 0; i < jobs.size(); ++i) tickets_.push_back({jobs[i], &group, i, Clock::now()});
        has_work_.notify_all();
        group.is_done.wait(lock, [&] { return group.left == 0; });
        if (was_expected) expected_.insert(std::this_thread::get_id());
        if (group.error) std::rethrow_exception(group.error);
        return std::move(group.results);
    }
    void expect() {
        std::lock_guard const lock(mutex_);
        expected_.insert(std::this_thread::get_id());
    }
    void expect_no_more() {
        std::lock_guard const lock(mutex_);
        expected_.erase(std::this_thread::get_id());
        has_work_.notify_all();
    }
    [[nodiscard]] std::size_t devices() const { return runners_.size(); }

private:
    void serve(DeviceRunner& runner) {
        for (;;) {
            auto const batch = take_batch();
            if (batch.empty()) return;
            std::vector<DeviceJob> jobs;
            for (auto const& ticket : batch) jobs.push_back(ticket.job);
            std::vector<Evaluation> results;
            std::exception_ptr error;
            try {
                results = runner.run(jobs);
            } catch (...) {
                error = std::current_exception();
            }
            deliver(batch, std::move(results), error);
        }
    }
    /// Empty when the queue is stopped.
    std::vector<Ticket> take_batch() {
        std::unique_lock lock(mutex_);
        for (;;) {
            has_work_.wait(lock, [&] { return is_stopping_ || !tickets_.empty(); });
            if (tickets_.empty()) return {};
            auto const deadline = tickets_.front().arrival + options_.max_wait;
            has_work_.wait_until(lock, deadline, [&] { return is_stopping_ || is_ready(); });
            if (!tickets_.empty()) break; // another device may have taken them meanwhile
        }
        auto const count = static_cast<std::ptrdiff_t>(std::min(options_.max_batch, tickets_.size()));
        std::vector<Ticket> batch(tickets_.begin(), tickets_.begin() + count);
        tickets_.erase(tickets_.begin(), tickets_.begin() + count);
        return batch;
    }
    /// Whoever could add to the batch has done so and waits, or it is full.
    [[nodiscard]] bool is_ready() const { return expected_.empty() || tickets_.size() >= options_.max_batch; }
    void deliver(std::vector<Ticket> const& batch, std::vector<Evaluation> results, std::exception_ptr const& error) {
        std::lock_guard const lock(mutex_);
        for (std::size_t i = 0; i < batch.size(); ++i) {
            auto& group = *batch[i].group;
            if (error)
                group.error = error;
            else
                group.results[batch[i].index] = std::move(results[i]);
            if (--group.left == 0) group.is_done.notify_all();
        }
    }

    Options options_;
    std::vector<std::unique_ptr<DeviceRunner>> runners_;
    std::mutex mutex_;
    std::condition_variable has_work_;
    std::deque<Ticket> tickets_;
    std::set<std::thread::id> expected_; ///< threads that will submit and have not yet
    bool is_stopping_ = false;
    std::vector<std::thread> threads_; ///< one a runner
};

DeviceService::DeviceService(std::vector<std::unique_ptr<DeviceRunner>> runners, Options const& options) {
    ESP_EXPECT(!runners.empty() && options.max_batch > 0);
    queue_ = std::make_unique<Queue>(std::move(runners), options);
}
DeviceService::DeviceService(DeviceService&&) noexcept = default;
DeviceService& DeviceService::operator=(DeviceService&&) noexcept = default;
DeviceService::~DeviceService() = default;

std::optional<DeviceService> DeviceService::make(Options const& options) {
    auto runners = make_cuda_runners();
    if (runners.empty()) return std::nullopt;
    return DeviceService(std::move(runners), options);
}

DeviceService::Expected::Expected(DeviceService& service) : queue_(*service.queue_) { queue_.expect(); }
DeviceService::Expected::~Expected() { queue_.expect_no_more(); }

std::vector<Evaluation> DeviceService::submit(std::span<DeviceJob const> jobs) { return queue_->submit(jobs); }
std::size_t DeviceService::devices() const { return queue_->devices(); }

} // namespace espalier::verify
