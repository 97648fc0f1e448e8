#pragma once

#include "espalier/cluster/collectives/collectives.hpp"

namespace espalier::cluster::collectives {

/// What one rank does in one step: chunks are those of its reduction group, in the order of the buffers.
struct Transfer {
    std::size_t step = 0;
    reduction::Collective collective = reduction::Collective::all_reduce;
    std::vector<int> members;  ///< ranks of the group, in order
    std::size_t place = 0;     ///< of this rank among them
    std::vector<int> sent;     ///< none: others of a Broadcast
    std::vector<int> received; ///< AllGather: own ones included; none: others of a Reduce, first of a Broadcast
};

/// A plan as one rank sees it: steps in which it sits out are left out.
struct Schedule {
    std::vector<Transfer> transfers;
    std::vector<int> held; ///< in the end, ascending
    int chunks = 1;        ///< devices of the reduction group
    int place = 0;         ///< of this rank in it
};
/// Throws InputError if a step cannot be done: a rank in two groups, chunks that differ where they are added, an
/// AllGather of unequal or common chunks, a Broadcast by a rank that holds nothing. (Sums are checked by executing.)
[[nodiscard]] Schedule schedule_of(Plan const& plan, int rank);
/// The chunks that a rank must end with: all, or for ReduceScatter as many as each has a share of.
[[nodiscard]] bool is_complete(Plan const& plan);

/// Where chunks are in memory. A payload is padded to a multiple of chunks x segments. Of an AllReduce each segment is
/// contiguous, so that most steps need no packing; of the others each chunk is, as MPI's own collectives have it.
struct Layout {
    int chunks = 1;
    int segments = 1;
    std::size_t length = 1; ///< elements of a chunk's share of a segment
    bool has_whole_segments = true;

    [[nodiscard]] std::size_t padded() const {
        return static_cast<std::size_t>(chunks) * static_cast<std::size_t>(segments) * length;
    }
    /// In elements.
    [[nodiscard]] std::size_t offset(int chunk, int segment) const;
    /// True if these chunks of a segment are one piece of memory in this order.
    [[nodiscard]] bool is_contiguous(std::vector<int> const& list) const;
};
[[nodiscard]] Layout layout_of(Plan const& plan, std::size_t elements);

struct Operation {
    std::size_t transfer = 0;
    int segment = 0;

    bool operator==(Operation const&) const = default;
};
/// The order in which a rank starts the steps of all segments: wave by wave, step s of segment t in wave s + t. It is
/// the same for all ranks, so that every group starts its collectives in one order, as MPI asks.
[[nodiscard]] std::vector<Operation> operations(Schedule const& schedule, int segments);

} // namespace espalier::cluster::collectives
