#include "espalier/verify/device.hpp"

#include "espalier/verify/evaluate.hpp"

#include "bodies.hpp"
#include "lower.hpp"
#include "results.hpp"

namespace espalier::verify {
namespace {

class HostRunner final : public DeviceRunner {
public:
    std::vector<Evaluation> run(std::span<DeviceJob const> jobs) override {
        std::vector<Evaluation> out;
        for (auto const& job : jobs) out.push_back(run_one(job));
        return out;
    }

private:
    static Evaluation run_one(DeviceJob const& job) {
        auto const& tape = *job.tape;
        if (tape.has_no_exponent) return {OpStatus::no_exponent, {}};
        if (tape.has_tails) return verify::run(tape, job.draw);
        auto const lowered = cuda::lower(tape);
        auto const size = static_cast<std::size_t>(lowered.size);
        std::vector<std::uint32_t> p(size), q(tape.has_q ? size : 0);
        std::int32_t zero_divisor = 0;
        cuda::JobView const view{p.data(),
                                 q.data(),
                                 tape.rows.data(),
                                 tape.indices.data(),
                                 field::make_model(job.draw.seed, job.draw.roots, tape.has_q),
                                 job.draw.seed,
                                 &zero_divisor};
        for (auto const& step : lowered.steps)
            for (std::int64_t i = 0; i < step.count; ++i) cuda::compute(step, view, i);
        if (zero_divisor) return {OpStatus::zero_divisor, {}};
        return cuda::results(tape, [&](Slot const& slot, std::uint32_t* to_p, std::uint32_t* to_q) {
            std::copy_n(p.data() + slot.offset, slot.size(), to_p);
            if (slot.has_q) std::copy_n(q.data() + slot.offset, slot.size(), to_q);
        });
    }
};

} // namespace

std::unique_ptr<DeviceRunner> make_host_runner() { return std::make_unique<HostRunner>(); }

} // namespace espalier::verify
