#pragma once

#include "setup.hpp"
#include "states.hpp"

#include "espalier/search/problem.hpp"

#include <optional>
#include <unordered_map>
#include <vector>

namespace espalier::problems::mugraph {

/// Classes of schedules of graph-defined kernels, and their numbers.
///
/// Invariant: what is remembered depends on the path to a kernel only, and was finished: a run that stops in the middle
/// leaves nothing half done. One per thread.
class Schedules {
public:
    /// Numbers of all kernels of a node: as sizes of all symbols, and kernel by kernel.
    struct Scheduled {
        Sizes sizes;
        std::array<KernelSizes, max_graph_kernels> kernels;
    };
    using List = std::vector<Scheduled>;
    /// Every class of one list of operands, by whether there are numbers for it.
    struct Classes {
        std::vector<Begin> feasible;
        std::array<std::uint64_t, reject_count> rejected{};
    };
    /// A node and its state at kernel level.
    struct NodeState {
        Node const& node;
        KernelState const& state;
    };

    Schedules(Setup const& setup, search::Notes& notes) : setup_(&setup), notes_(&notes) {}

    /// Of a kernel that comes next, with these tensors as operands. Good until the next call.
    [[nodiscard]] Classes const& classes_for(NodeState const& at, std::span<std::uint8_t const> operands);
    /// Every schedule of a complete node; of those that look alike to what follows the cheapest, if the space says so.
    [[nodiscard]] List of_complete(NodeState const& at);
    /// Of the kernels up to `kernel`, whose operands fit; nothing is known about its ops yet.
    [[nodiscard]] List of_operands(NodeState const& at, int kernel);

    void clear();
    [[nodiscard]] std::size_t memory_bytes() const;

private:
    enum class MemoryCheck : std::uint8_t { operands, whole_block };
    [[nodiscard]] std::uint64_t key_before(Node const& node, int kernel) const;
    [[nodiscard]] List const& before(NodeState const& at, int kernel);
    [[nodiscard]] List extend(NodeState const& at, int kernel, List const& before, MemoryCheck check) const;
    [[nodiscard]] List cheapest(NodeState const& at, int kernel, List const& list) const;
    [[nodiscard]] List alike_once(NodeState const& at, int kernels, List const& list) const;
    [[nodiscard]] Classes find_classes(NodeState const& at, std::span<std::uint8_t const> operands,
                                       std::uint32_t twins);
    [[nodiscard]] std::vector<int> partial_axes(NodeState const& at, std::span<std::uint8_t const> operands) const;
    /// Nothing if the class has a schedule, else why not.
    [[nodiscard]] std::optional<Reject> why_infeasible(Begin const& begin, int kernel,
                                                       std::span<program::SymbolicShape const> operands,
                                                       List const& before) const;

    Setup const* setup_;
    search::Notes* notes_;
    std::unordered_map<std::uint64_t, Classes> classes_;
    std::unordered_map<std::uint64_t, List> lists_;
};

} // namespace espalier::problems::mugraph
