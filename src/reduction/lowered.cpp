#include "espalier/reduction/lowered.hpp"

#include "espalier/base/contract.hpp"
#include "espalier/base/rng.hpp"

#include <algorithm>
#include <optional>
#include <unordered_map>

namespace espalier::reduction {
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
        : devices_(devices), request_(request), value_(devices * devices), has_(devices * devices, 1),
          wanted_(devices, 0) {
        for (std::size_t i = 0; i < value_.size(); ++i) {
            has_[i] = !info(request).starts_in_parts || i / devices_ == i % devices_;
            if (has_[i] == 0) continue;
            value_[i] = base::Rng::mix(seed + 0x9E3779B97F4A7C15ull * (i + 1));
            wanted_[i % devices_] += value_[i];
        }
    }
    void run(Collective collective, std::vector<int> const& group) {
        std::vector<std::uint64_t> sum(devices_, 0);
        std::vector<std::uint8_t> is_there(devices_, 0);
        for (auto const device : group) {
            if (collective == Collective::broadcast && device != group.front()) continue;
            for (std::size_t chunk = 0, at = static_cast<std::size_t>(row(device)); chunk < devices_; ++chunk, ++at) {
                if (has_[at] == 0) continue;
                bool const is_doubled = is_there[chunk] != 0 && collective == Collective::all_gather;
                sum[chunk] = is_doubled ? base::Rng::mix(sum[chunk] + 1) : sum[chunk] + value_[at]; // some wrong value
                is_there[chunk] = 1;
            }
        }
        auto const held = static_cast<std::size_t>(std::ranges::count(is_there, 1));
        for (std::size_t i = 0; i < group.size(); ++i) take(collective, group, i, held, sum, is_there);
    }
    [[nodiscard]] bool is_right() const {
        std::vector<std::size_t> owned(devices_, 0), owners(devices_, 0);
        for (std::size_t i = 0; i < value_.size(); ++i) {
            if (has_[i] == 0 && !info(request_).ends_in_parts) return false;
            if (has_[i] != 0 && value_[i] != wanted_[i % devices_]) return false;
            if (has_[i] != 0) ++owned[i / devices_], ++owners[i % devices_];
        }
        auto const is_one = [](std::size_t count) { return count == 1; };
        return !info(request_).ends_in_parts ||
               (std::ranges::all_of(owned, is_one) && std::ranges::all_of(owners, is_one));
    }

private:
    [[nodiscard]] std::ptrdiff_t row(int device) const { return device * static_cast<std::ptrdiff_t>(devices_); }
    void take(Collective collective, std::vector<int> const& group, std::size_t i, std::size_t held,
              std::vector<std::uint64_t> const& sum, std::vector<std::uint8_t> const& is_there) {
        auto const at = row(group[i]);
        auto const keeps_none = collective == Collective::reduce && i > 0;
        std::copy_n(is_there.begin(), devices_, has_.begin() + at);
        if (keeps_none) std::fill_n(has_.begin() + at, devices_, std::uint8_t{0});
        if (collective == Collective::reduce_scatter) {
            std::size_t number = 0;
            for (std::size_t chunk = 0; chunk < devices_; ++chunk)
                if (is_there[chunk] != 0 && number++ * group.size() / held != i)
                    has_[static_cast<std::size_t>(at) + chunk] = 0;
        }
        std::copy_n(sum.begin(), devices_, value_.begin() + at); // what it does not have is never looked at
    }

    std::size_t devices_;
    Request request_;
    std::vector<std::uint64_t> value_; ///< by device and chunk
    std::vector<std::uint8_t> has_;
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
        for (auto const& members : reduction::groups(step.grouping, sizes))
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

} // namespace espalier::reduction
