#include "espalier/placement/lowered.hpp"

#include "espalier/base/contract.hpp"
#include "espalier/base/rng.hpp"

#include <algorithm>
#include <optional>
#include <unordered_map>

namespace espalier::placement {
namespace {

int product(std::vector<int> const& sizes) {
    int product = 1;
    for (auto const size : sizes) product *= size;
    return product;
}

/// The memory of a reduction group: for every device and every chunk a sum, or nothing.
class Memory {
public:
    Memory(std::size_t devices, std::uint64_t seed, Request request)
        : devices_(devices), request_(request), value_(devices * devices), has_(devices * devices, true),
          wanted_(devices, 0) {
        for (std::size_t i = 0; i < value_.size(); ++i) {
            has_[i] = request != Request::all_gather || i / devices_ == i % devices_;
            if (!has_[i]) continue;
            value_[i] = base::Rng::mix(seed + 0x9E3779B97F4A7C15ull * (i + 1));
            wanted_[i % devices_] += value_[i];
        }
    }
    void run(Collective collective, std::vector<int> const& group) {
        std::vector<std::uint64_t> sum(devices_, 0);
        std::vector<bool> is_there(devices_, false);
        for (auto const device : group) {
            if (collective == Collective::broadcast && device != group.front()) continue;
            for (std::size_t chunk = 0, at = row(device); chunk < devices_; ++chunk, ++at) {
                if (!has_[at]) continue;
                bool const is_doubled = is_there[chunk] && collective == Collective::all_gather;
                sum[chunk] = is_doubled ? ~sum[chunk] : sum[chunk] + value_[at];
                is_there[chunk] = true;
            }
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
        for (std::size_t chunk = 0, at = row(group[i]); chunk < devices_; ++chunk, ++at) {
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
    std::vector<std::uint64_t> value_; ///< by device and chunk
    std::vector<bool> has_;
    std::vector<std::uint64_t> wanted_;
};

/// What a program does within each reduction group, devices counted there; nothing if it mixes two of them.
std::optional<std::vector<Lowered>> parts_of(Lowered const& program, std::vector<std::vector<int>> const& groups) {
    struct Seat {
        std::size_t group = 0;
        int place = 0;
    };
    std::unordered_map<int, Seat> seats;
    for (std::size_t g = 0; g < groups.size(); ++g)
        for (std::size_t i = 0; i < groups[g].size(); ++i) seats[groups[g][i]] = {g, static_cast<int>(i)};
    std::vector<Lowered> parts(groups.size());
    for (auto const& step : program) {
        for (auto& part : parts) part.push_back({step.collective, {}});
        for (auto const& devices : step.groups) {
            auto const own = seats.at(devices.front()).group;
            auto& members = parts[own].back().groups.emplace_back();
            for (auto const device : devices) {
                auto const seat = seats.at(device);
                if (seat.group != own) return std::nullopt;
                members.push_back(seat.place);
            }
        }
    }
    return parts;
}

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

bool sums_are_right(Lowered const& program, std::vector<std::vector<int>> const& groups, std::uint64_t seed,
                    Request request) {
    auto const parts = parts_of(program, groups);
    if (!parts) return false;
    for (std::size_t i = 0; i < parts->size(); ++i) {
        auto const& part = (*parts)[i];
        if (i > 0 && part == parts->front()) continue;
        Memory memory(groups[i].size(), seed, request);
        for (auto const& [collective, members] : part)
            for (auto const& group : members) memory.run(collective, group);
        if (!memory.is_right()) return false;
    }
    return true;
}

} // namespace espalier::placement
