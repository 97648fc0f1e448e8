#pragma once

#include "espalier/verify/tape.hpp"

#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace espalier::verify {

/// One run of a tape, which must live until the answer is there.
struct DeviceJob {
    Tape const* tape = nullptr;
    Draw draw;
};

/// Runs batches of tapes on one device. Used by one thread at a time.
class DeviceRunner {
public:
    virtual ~DeviceRunner() = default;
    /// One evaluation a job, equal to run(). Throws SystemError if the device fails.
    [[nodiscard]] virtual std::vector<Evaluation> run(std::span<DeviceJob const> jobs) = 0;
};
/// The code of a device in plain loops on the host: for tests, slow.
[[nodiscard]] std::unique_ptr<DeviceRunner> make_host_runner();
/// One a GPU; none without CUDA or without a GPU.
[[nodiscard]] std::vector<std::unique_ptr<DeviceRunner>> make_cuda_runners();
/// Why there is none; empty if there is one.
[[nodiscard]] std::string why_no_device();

/// The devices of a node as one queue: threads submit jobs, each device has a thread that takes up to a batch of what
/// has come from all of them. It begins when the batch is full or when nobody is expected to add to it; while it runs,
/// the next one gathers. Thread safe; movable. Submitters must be done before it is destroyed.
class DeviceService {
    class Queue;

public:
    struct Options {
        std::size_t max_batch = 256;           ///< jobs at once
        std::chrono::milliseconds max_wait{2}; ///< for those who are expected
    };
    /// While it lives, the thread that made it is expected to submit: jobs of others wait for its own. Make one for a
    /// piece of work that submits soon and ends with its last submit(); one per thread at a time.
    class Expected {
    public:
        explicit Expected(DeviceService& service);
        ~Expected();
        Expected(Expected const&) = delete;
        Expected& operator=(Expected const&) = delete;

    private:
        Queue& queue_;
    };

    DeviceService(std::vector<std::unique_ptr<DeviceRunner>> runners, Options const& options);
    DeviceService(DeviceService&&) noexcept;
    DeviceService& operator=(DeviceService&&) noexcept;
    ~DeviceService();
    /// Of all GPUs of the node, or nothing if there is none (see why_no_device).
    [[nodiscard]] static std::optional<DeviceService> make(Options const& options);

    /// Blocks until all are done. Throws what a device threw.
    [[nodiscard]] std::vector<Evaluation> submit(std::span<DeviceJob const> jobs);
    [[nodiscard]] std::size_t devices() const;

private:
    std::unique_ptr<Queue> queue_;
};

} // namespace espalier::verify
