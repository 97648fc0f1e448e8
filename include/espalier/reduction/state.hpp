#pragma once

#include "espalier/reduction/program.hpp"

#include <optional>

namespace espalier::reduction {

/// What the premise of Broadcast asks of the others: contained in the first and one strictly so; all strictly; or all
/// empty.
enum class BroadcastRule : std::uint8_t { contained, strict, empty };
inline constexpr std::array<std::string_view, 3> broadcast_rule_names{"contained", "strict", "empty"};

/// Why a collective does not apply.
enum class Refusal : std::uint8_t { nothing_held, rows_differ, counted_twice, indivisible, rows_overlap, nothing_new };
inline constexpr std::array<std::string_view, 6> refusal_names{"nothing held", "rows differ",  "counted twice",
                                                               "indivisible",  "rows overlap", "nothing new"};
[[nodiscard]] constexpr std::string_view name(Refusal refusal) {
    return refusal_names[static_cast<std::size_t>(refusal)];
}

/// Who holds which chunk and whose contributions are in it: for each device and each chunk the set of contributors.
/// Devices are at most 32: programs are synthesized on the smallest sizes, since counts do not depend on them.
class State {
public:
    static constexpr int max_devices = 32;

    /// Every device holds its own contribution to every chunk; for an all-gather only its own chunk.
    explicit State(int devices, Request request = Request::all_reduce);
    /// Every device holds everything.
    [[nodiscard]] static State goal(int devices);
    /// What was asked for is done: everything everywhere; or each device holds one whole chunk and no two the same; or
    /// every chunk is everywhere.
    [[nodiscard]] bool is_done(Request request) const;

    /// Does a step, or says why it cannot be done: all groups run at once, and each must be able to.
    [[nodiscard]] std::optional<Refusal> apply(Collective collective, std::vector<std::vector<int>> const& groups,
                                               BroadcastRule rule);
    [[nodiscard]] std::uint32_t contributors(int device, int chunk) const { return rows_[at(device, chunk)]; }
    [[nodiscard]] int devices() const { return devices_; }
    [[nodiscard]] std::uint64_t hash() const;
    bool operator==(State const&) const = default;

private:
    [[nodiscard]] std::size_t at(int device, int chunk) const {
        return static_cast<std::size_t>(device * devices_ + chunk);
    }
    [[nodiscard]] std::uint32_t held(int device) const; ///< chunks, as a set
    [[nodiscard]] bool is_within(int device, int other) const;
    [[nodiscard]] std::optional<Refusal> why_no_sum(std::vector<int> const& group) const;
    [[nodiscard]] std::optional<Refusal> why_no_gather(std::vector<int> const& group) const;
    [[nodiscard]] std::optional<Refusal> why_no_broadcast(std::vector<int> const& group, BroadcastRule rule) const;
    [[nodiscard]] std::optional<Refusal> why_not(Collective collective, std::vector<int> const& group,
                                                 BroadcastRule rule) const;
    void perform(Collective collective, std::vector<int> const& group);

    int devices_;
    std::vector<std::uint32_t> rows_;
};

} // namespace espalier::reduction
