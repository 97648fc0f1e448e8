#include "espalier/verify/device.hpp"
#include "espalier/verify/evaluate.hpp"

#include "launch.hpp"
#include "lower.hpp"
#include "memory.hpp"
#include "results.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>

namespace espalier::verify {
namespace {

using cuda::check;
using cuda::JobOnDevice;
using cuda::LoweredStep;

constexpr std::size_t max_jobs = 4096; ///< at once

/// Bytes on their way to the device, each array aligned.
class Package {
public:
    template <class T>
    std::size_t add(std::vector<T> const& values) {
        bytes_.resize((bytes_.size() + 15) / 16 * 16);
        auto const at = bytes_.size();
        bytes_.resize(at + values.size() * sizeof(T));
        if (!values.empty()) std::memcpy(bytes_.data() + at, values.data(), values.size() * sizeof(T));
        return at;
    }
    [[nodiscard]] std::vector<std::byte> const& bytes() const { return bytes_; }

private:
    std::vector<std::byte> bytes_;
};

/// A tape in the package.
struct PackedTape {
    cuda::Lowered lowered;
    std::size_t steps = 0, rows = 0, indices = 0; ///< where they start
};

class CudaRunner final : public DeviceRunner {
public:
    explicit CudaRunner(int device) : device_((check(cudaSetDevice(device), "choosing a device"), device)) {
        std::size_t free = 0, total = 0;
        check(cudaMemGetInfo(&free, &total), "asking for free memory");
        max_bytes_ = free / 2;
    }

    /// In as many batches as fit in memory. What does not fit at all is run on the host.
    std::vector<Evaluation> run(std::span<DeviceJob const> jobs) override {
        check(cudaSetDevice(device_), "choosing a device");
        std::vector<Evaluation> out(jobs.size());
        std::vector<std::size_t> batch;
        std::size_t size = 0;
        for (std::size_t i = 0; i < jobs.size(); ++i) {
            auto const needed = size_of(*jobs[i].tape);
            if (jobs[i].tape->has_no_exponent || jobs[i].tape->has_tails || needed > max_bytes_) {
                out[i] = verify::run(*jobs[i].tape, jobs[i].draw);
                continue;
            }
            if (size + needed > max_bytes_ || batch.size() == max_jobs) {
                run_batch(jobs, batch, out);
                batch.clear();
                size = 0;
            }
            batch.push_back(i);
            size += needed;
        }
        if (!batch.empty()) run_batch(jobs, batch, out);
        return out;
    }

private:
    using Tapes = std::map<Tape const*, PackedTape>;

    /// At most: norms take twice their values in between.
    static std::size_t size_of(Tape const& tape) {
        return static_cast<std::size_t>(tape.size) * 3 * sizeof(std::uint32_t) * (tape.has_q ? 2 : 1) +
               (tape.rows.size() + tape.indices.size()) * sizeof(std::int64_t);
    }

    void run_batch(std::span<DeviceJob const> jobs, std::vector<std::size_t> const& batch,
                   std::vector<Evaluation>& out) {
        Package package;
        Tapes tapes;
        for (auto const i : batch) pack(*jobs[i].tape, tapes, package);
        auto const on_device = place(jobs, batch, tapes, package);
        launch(on_device, package.add(on_device), package);
        fetch(jobs, batch, on_device, out);
    }
    static void pack(Tape const& tape, Tapes& tapes, Package& package) {
        auto const [at, is_new] = tapes.try_emplace(&tape);
        if (!is_new) return;
        auto& packed = at->second;
        packed.lowered = cuda::lower(tape);
        packed.steps = package.add(packed.lowered.steps);
        packed.rows = package.add(tape.rows);
        packed.indices = package.add(tape.indices);
    }

    /// Reserves memory and says where each job's things will be. The values start with a flag a job.
    std::vector<JobOnDevice> place(std::span<DeviceJob const> jobs, std::vector<std::size_t> const& batch,
                                   Tapes const& tapes, Package const& package) {
        std::size_t words = batch.size();
        for (auto const i : batch) words += words_of(jobs[i], tapes);
        auto const* const base = package_.reserve(package.bytes().size() + 16 + batch.size() * sizeof(JobOnDevice));
        auto* const values = reinterpret_cast<std::uint32_t*>(values_.reserve(words * sizeof(std::uint32_t)));
        std::vector<JobOnDevice> out;
        auto* next = values + batch.size();
        for (auto const i : batch) {
            auto const& tape = tapes.at(jobs[i].tape);
            auto& job = out.emplace_back();
            job.steps = reinterpret_cast<LoweredStep const*>(base + tape.steps);
            job.step_count = static_cast<std::int32_t>(tape.lowered.steps.size());
            job.view = {next,
                        next + tape.lowered.size,
                        reinterpret_cast<std::int64_t const*>(base + tape.rows),
                        reinterpret_cast<std::int64_t const*>(base + tape.indices),
                        field::make_model(jobs[i].draw.seed, jobs[i].draw.roots, jobs[i].tape->has_q),
                        jobs[i].draw.seed,
                        reinterpret_cast<std::int32_t*>(values) + out.size() - 1};
            next += words_of(jobs[i], tapes);
        }
        longest_.assign(0, 0);
        for (auto const& [tape, packed] : tapes) add_longest(packed.lowered.steps);
        return out;
    }
    static std::size_t words_of(DeviceJob const& job, Tapes const& tapes) {
        return static_cast<std::size_t>(tapes.at(job.tape).lowered.size) * (job.tape->has_q ? 2 : 1);
    }
    void add_longest(std::vector<LoweredStep> const& steps) {
        longest_.resize(std::max(longest_.size(), steps.size()));
        for (std::size_t i = 0; i < steps.size(); ++i) longest_[i] = std::max(longest_[i], steps[i].count);
    }

    void launch(std::vector<JobOnDevice> const& jobs, std::size_t jobs_at, Package const& package) {
        auto const& bytes = package.bytes();
        std::memcpy(upload_.reserve(bytes.size()), bytes.data(), bytes.size());
        check(cudaMemcpyAsync(package_.data(), upload_.data(), bytes.size(), cudaMemcpyHostToDevice, stream_.get()),
              "copying to the device");
        check(cudaMemsetAsync(values_.data(), 0, jobs.size() * sizeof(std::int32_t), stream_.get()), "clearing flags");
        auto const* const on_device = reinterpret_cast<JobOnDevice const*>(package_.data() + jobs_at);
        for (std::size_t step = 0; step < longest_.size(); ++step)
            check(cuda::launch_step({on_device, jobs.size()}, static_cast<std::int32_t>(step), longest_[step],
                                    stream_.get()),
                  "a launch");
    }

    void fetch(std::span<DeviceJob const> jobs, std::vector<std::size_t> const& batch,
               std::vector<JobOnDevice> const& on_device, std::vector<Evaluation>& out) {
        std::size_t words = batch.size();
        for (auto const i : batch) words += output_words(*jobs[i].tape);
        auto* const host = reinterpret_cast<std::uint32_t*>(download_.reserve(words * sizeof(std::uint32_t)));
        copy_back(host, reinterpret_cast<std::uint32_t const*>(values_.data()), batch.size());
        auto* next = host + batch.size();
        for (std::size_t j = 0; j < batch.size(); ++j)
            for (auto const id : jobs[batch[j]].tape->outputs)
                next = fetch_slot(jobs[batch[j]].tape->slots[id], on_device[j].view, next);
        stream_.wait();
        auto const* from = host + batch.size();
        for (std::size_t j = 0; j < batch.size(); ++j) {
            auto const& tape = *jobs[batch[j]].tape;
            out[batch[j]] = cuda::results(tape, [&](Slot const& slot, std::uint32_t* p, std::uint32_t* q) {
                from = std::copy_n(from, slot.size(), p) - p + from;
                if (slot.has_q) from = std::copy_n(from, slot.size(), q) - q + from;
            });
            if (host[j]) out[batch[j]] = {OpStatus::zero_divisor, {}};
        }
    }
    static std::size_t output_words(Tape const& tape) {
        std::int64_t words = 0;
        for (auto const id : tape.outputs) {
            auto const& slot = tape.slots[id];
            words += slot.size() * (slot.has_q ? 2 : 1);
        }
        return static_cast<std::size_t>(words);
    }
    std::uint32_t* fetch_slot(Slot const& slot, cuda::JobView const& view, std::uint32_t* to) {
        auto const size = static_cast<std::size_t>(slot.size());
        copy_back(to, view.p + slot.offset, size);
        to += size;
        if (!slot.has_q) return to;
        copy_back(to, view.q + slot.offset, size);
        return to + size;
    }
    void copy_back(std::uint32_t* to, std::uint32_t const* from, std::size_t words) {
        check(cudaMemcpyAsync(to, from, words * sizeof(std::uint32_t), cudaMemcpyDeviceToHost, stream_.get()),
              "copying from the device");
    }

    int device_;
    cuda::Stream stream_;
    cuda::Buffer<cuda::OnDevice> package_, values_;
    cuda::Buffer<cuda::Pinned> upload_, download_;
    std::size_t max_bytes_ = 0;
    std::vector<std::int64_t> longest_; ///< elements of the longest result of each step, over the jobs of a batch
};

} // namespace

std::vector<std::unique_ptr<DeviceRunner>> make_cuda_runners() {
    int count = 0;
    if (cudaGetDeviceCount(&count) != cudaSuccess) return {};
    std::vector<std::unique_ptr<DeviceRunner>> runners;
    for (int device = 0; device < count; ++device) runners.push_back(std::make_unique<CudaRunner>(device));
    return runners;
}

std::string why_no_device() {
    int count = 0;
    auto const error = cudaGetDeviceCount(&count);
    if (error != cudaSuccess) return fmt::format("no device: {}", cudaGetErrorString(error));
    return count == 0 ? "no device: CUDA sees no GPU on this machine" : "";
}

} // namespace espalier::verify
