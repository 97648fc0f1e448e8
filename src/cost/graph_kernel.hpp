#pragma once

#include "espalier/cost/roofline.hpp"
#include "traffic.hpp"
#include "work.hpp"

namespace espalier::cost {

/// A graph-defined kernel on a machine: from what its blocks do follow how they run and what that costs.
class GraphKernel {
public:
    GraphKernel(program::Graph const& graph, program::OpId op, program::TensorInfos const& tensors,
                config::HardwareConfig const& hardware);
    /// With or without a second buffer for the tiles of the loop, whichever is faster; without launch.
    [[nodiscard]] KernelCost cost() const;

private:
    enum class Buffers : std::uint8_t { one, two };
    /// Microseconds of a wave.
    struct Wave {
        double busy = 0, latency = 0, exposed = 0, waiting = 0;
    };
    [[nodiscard]] bool has_second_buffer() const;
    [[nodiscard]] Running place(Buffers buffers) const;
    [[nodiscard]] KernelCost cost_of(Running const& running) const;
    [[nodiscard]] Waves waves_of(Running const& running) const;
    /// Of `count` blocks; `share` of its start and end has nothing to overlap with.
    [[nodiscard]] Wave wave(KernelCost const& cost, std::int64_t count, double share) const;
    /// A block by itself: loads, steps and results one after the other, but for loads of the next step if buffered.
    [[nodiscard]] double block_us(Running const& running) const;
    [[nodiscard]] PartTimes parts_of(KernelCost const& cost, Waves const& waves) const;
    /// Of one multiprocessor.
    [[nodiscard]] UnitTimes times(Work const& work) const;
    [[nodiscard]] std::int64_t blocks() const;

    program::Graph const& block_;
    config::HardwareConfig const& hardware_;
    Traffic traffic_;
    BlockWork work_;
    Work whole_;                    ///< of a block
    std::int64_t shared_bytes_ = 0; ///< of a block
    std::int64_t loop_bytes_ = 0;   ///< of the tiles of a step
    double registers_ = 0;          ///< that a thread wants
    double processors_ = 1;
    double port_ = 1; ///< bytes per microsecond between the cache and one multiprocessor
    double steps_ = 1;
};

} // namespace espalier::cost
