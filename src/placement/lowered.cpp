#include "espalier/placement/lowered.hpp"

#include "espalier/base/contract.hpp"
#include "espalier/base/rng.hpp"

#include <algorithm>

namespace espalier::placement {
namespace {

int product(std::vector<int> const& sizes) {
    int product = 1;
    for (auto const size : sizes) product *= size;
    return product;
}

/// The memory of all devices: a sum for every chunk, or nothing.
class Memory {
public:
    Memory(int devices, std::uint64_t seed, Request request)
        : devices_(static_cast<std::size_t>(devices)), request_(request), value_(devices_ * devices_),
          has_(devices_ * devices_, true), wanted_(devices_, 0) {
        for (std::size_t i = 0; i < value_.size(); ++i) {
            has_[i] = request != Request::all_gather || i / devices_ == i % devices_;
            if (!has_[i]) continue;
            value_[i] = base::Rng::mix(seed + 0x9E3779B97F4A7C15ull * (i + 1));
            wanted_[i % devices_] += value_[i];
        }
    }
    void run(Collective collective, std::vector<int> const& group) {
        auto const first = row(group.front());
        std::vector<std::uint64_t> sum(devices_, 0);
        std::vector<bool> is_there(devices_, false);
        for (std::size_t chunk = 0; chunk < devices_; ++chunk)
            for (auto const device : group) {
                auto const at = row(device) + chunk;
                if (!has_[at] || (collective == Collective::broadcast && row(device) != first)) continue;
                sum[chunk] =
                    is_there[chunk] && collective == Collective::all_gather ? ~sum[chunk] : sum[chunk] + value_[at];
                is_there[chunk] = true;
            }
        auto const held = static_cast<std::size_t>(std::ranges::count(is_there, true));
        for (std::size_t i = 0; i < group.size(); ++i) take(collective, group, i, held, sum, is_there);
    }
    [[nodiscard]] bool is_right() const {
        std::vector<std::size_t> owned(devices_, 0), owners(devices_, 0);
        for (std::size_t i = 0; i < value_.size(); ++i) {
            if (!has_[i] && request_ != Request::reduce_scatter) return false;
            if (has_[i] && value_[i] != wanted_[i % devices_]) return false;
            if (has_[i]) ++owned[i / devices_], ++owners[i % devices_];
        }
        auto const is_one = [](std::size_t count) { return count == 1; };
        return request_ != Request::reduce_scatter ||
               (std::ranges::all_of(owned, is_one) && std::ranges::all_of(owners, is_one));
    }

private:
    [[nodiscard]] std::size_t row(int device) const { return static_cast<std::size_t>(device) * devices_; }
    void take(Collective collective, std::vector<int> const& group, std::size_t i, std::size_t held,
              std::vector<std::uint64_t> const& sum, std::vector<bool> const& is_there) {
        std::size_t number = 0;
        for (std::size_t chunk = 0; chunk < devices_; ++chunk) {
            auto const at = row(group[i]) + chunk;
            bool keeps = is_there[chunk];
            if (keeps && collective == Collective::reduce_scatter) keeps = number * group.size() / held == i;
            if (collective == Collective::reduce) keeps = keeps && i == 0;
            if (is_there[chunk]) ++number;
            has_[at] = keeps;
            value_[at] = keeps ? sum[chunk] : 0;
        }
    }

    std::size_t devices_;
    Request request_;
    std::vector<std::uint64_t> value_;
    std::vector<bool> has_;
    std::vector<std::uint64_t> wanted_;
};

} // namespace

Lowered lower(Program const& program, std::vector<int> const& sizes, std::vector<std::vector<int>> const& groups) {
    Lowered lowered;
    for (auto const& step : program) {
        lowered.push_back({step.collective, {}});
        for (auto const& members : placement::groups(step.grouping, sizes))
            for (auto const& devices : groups) {
                ESP_EXPECT(static_cast<int>(devices.size()) == product(sizes));
                auto& group = lowered.back().groups.emplace_back();
                for (auto const member : members) group.push_back(devices[static_cast<std::size_t>(member)]);
            }
    }
    return lowered;
}

bool sums_are_right(Program const& program, std::vector<int> const& sizes, std::uint64_t seed, Request request) {
    Memory memory(product(sizes), seed, request);
    for (auto const& step : program)
        for (auto const& group : groups(step.grouping, sizes)) memory.run(step.collective, group);
    return memory.is_right();
}

} // namespace espalier::placement
