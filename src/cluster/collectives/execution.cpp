#include "world.hpp"

#include "espalier/base/contract.hpp"
#include "espalier/base/error.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <set>

namespace espalier::cluster::collectives {

using reduction::Collective;

/// One run: the data, and what is under way, at most one collective a segment.
class Execution::Flight {
public:
    Flight(Execution const& plan, std::byte* data, std::byte* scratch)
        : plan_(plan), data_(data), scratch_(scratch),
          requests_(static_cast<std::size_t>(plan.layout_.segments), MPI_REQUEST_NULL),
          under_way_(static_cast<std::size_t>(plan.layout_.segments), nullptr) {}

    void start(Transfer const& transfer, int segment, bool is_blocking) {
        auto const at = static_cast<std::size_t>(segment);
        under_way_[at] = &transfer;
        call(transfer, segment, is_blocking ? nullptr : &requests_[at]);
    }
    /// Waits for what is under way in a segment, and puts chunks that came packed into their places.
    void finish(int segment) {
        auto const at = static_cast<std::size_t>(segment);
        if (under_way_[at] == nullptr) return;
        if (requests_[at] != MPI_REQUEST_NULL) MPI_Wait(&requests_[at], MPI_STATUS_IGNORE);
        if (auto const& unpacked = from(*under_way_[at], segment); unpacked != nullptr)
            unpack(under_way_[at]->received, segment, unpacked);
        under_way_[at] = nullptr;
    }

private:
    [[nodiscard]] std::size_t element() const { return size_of(plan_.element_); }
    [[nodiscard]] std::byte* place(int chunk, int segment) const {
        return data_ + plan_.layout_.offset(chunk, segment) * element();
    }
    [[nodiscard]] std::byte* send_scratch(int segment) const {
        return scratch_ + static_cast<std::size_t>(segment) * plan_.room_;
    }
    [[nodiscard]] std::byte* receive_scratch(int segment) const { return send_scratch(segment) + plan_.send_room_; }
    [[nodiscard]] bool is_direct(std::vector<int> const& list) const { return plan_.layout_.is_contiguous(list); }

    /// Where received chunks wait to be unpacked; null if they came where they belong.
    [[nodiscard]] std::byte* from(Transfer const& transfer, int segment) const {
        if (transfer.received.empty()) return nullptr;
        if (transfer.collective == Collective::reduce_scatter) return receive_scratch(segment);
        if (is_direct(transfer.received)) return nullptr;
        return transfer.collective == Collective::all_gather ? receive_scratch(segment) : send_scratch(segment);
    }
    void unpack(std::vector<int> const& list, int segment, std::byte const* packed) const {
        auto const bytes = plan_.layout_.length * element();
        for (std::size_t i = 0; i < list.size(); ++i) std::memcpy(place(list[i], segment), packed + i * bytes, bytes);
    }
    /// Chunks in one piece: where they are, or packed.
    [[nodiscard]] std::byte* piece(std::vector<int> const& list, int segment) const {
        if (is_direct(list)) return place(list.front(), segment);
        auto const bytes = plan_.layout_.length * element();
        auto* const packed = send_scratch(segment);
        for (std::size_t i = 0; i < list.size(); ++i) std::memcpy(packed + i * bytes, place(list[i], segment), bytes);
        return packed;
    }
    [[nodiscard]] int count(std::vector<int> const& list) const {
        return static_cast<int>(list.size() * plan_.layout_.length);
    }

    void call(Transfer const& transfer, int segment, MPI_Request* request) const {
        auto const comm = plan_.world_.data().of(transfer.members);
        switch (transfer.collective) {
        case Collective::all_reduce:
            return all_reduce(piece(transfer.sent, segment), count(transfer.sent), comm, request);
        case Collective::reduce:
            return reduce(transfer, piece(transfer.sent, segment), comm, request);
        case Collective::reduce_scatter:
            return reduce_scatter(transfer, segment, comm, request);
        case Collective::all_gather:
            return all_gather(transfer, segment, comm, request);
        case Collective::broadcast:
            return broadcast(transfer, segment, comm, request);
        }
    }
    [[nodiscard]] MPI_Datatype type() const { return datatype_of(plan_.element_); }
    void all_reduce(std::byte* buffer, int n, MPI_Comm comm, MPI_Request* request) const {
        if (request == nullptr)
            MPI_Allreduce(MPI_IN_PLACE, buffer, n, type(), MPI_SUM, comm);
        else
            MPI_Iallreduce(MPI_IN_PLACE, buffer, n, type(), MPI_SUM, comm, request);
    }
    void reduce(Transfer const& transfer, std::byte* buffer, MPI_Comm comm, MPI_Request* request) const {
        bool const is_first = transfer.place == 0;
        void const* send = is_first ? MPI_IN_PLACE : buffer;
        void* receive = is_first ? buffer : nullptr;
        if (request == nullptr)
            MPI_Reduce(send, receive, count(transfer.sent), type(), MPI_SUM, 0, comm);
        else
            MPI_Ireduce(send, receive, count(transfer.sent), type(), MPI_SUM, 0, comm, request);
    }
    void reduce_scatter(Transfer const& transfer, int segment, MPI_Comm comm, MPI_Request* request) const {
        auto const* send = piece(transfer.sent, segment);
        auto* receive = receive_scratch(segment);
        if (request == nullptr)
            MPI_Reduce_scatter_block(send, receive, count(transfer.received), type(), MPI_SUM, comm);
        else
            MPI_Ireduce_scatter_block(send, receive, count(transfer.received), type(), MPI_SUM, comm, request);
    }
    void all_gather(Transfer const& transfer, int segment, MPI_Comm comm, MPI_Request* request) const {
        bool const is_in_place = is_direct(transfer.received); // then the own chunks are where they will be
        void const* send = is_in_place ? MPI_IN_PLACE : piece(transfer.sent, segment);
        void* receive = is_in_place ? place(transfer.received.front(), segment) : receive_scratch(segment);
        auto const n = count(transfer.sent);
        if (request == nullptr)
            MPI_Allgather(send, n, type(), receive, n, type(), comm);
        else
            MPI_Iallgather(send, n, type(), receive, n, type(), comm, request);
    }
    void broadcast(Transfer const& transfer, int segment, MPI_Comm comm, MPI_Request* request) const {
        bool const is_first = transfer.place == 0;
        auto const& list = is_first ? transfer.sent : transfer.received;
        auto* buffer = is_first          ? piece(list, segment)
                       : is_direct(list) ? place(list.front(), segment)
                                         : send_scratch(segment);
        if (request == nullptr)
            MPI_Bcast(buffer, count(list), type(), 0, comm);
        else
            MPI_Ibcast(buffer, count(list), type(), 0, comm, request);
    }

    Execution const& plan_;
    std::byte* data_;
    std::byte* scratch_;
    std::vector<MPI_Request> requests_;
    std::vector<Transfer const*> under_way_;
};

Execution::Execution(World& world, Plan const& plan, std::size_t elements, Element element)
    : world_(world), element_(element), schedule_(schedule_of(plan, world.rank())), layout_(layout_of(plan, elements)),
      order_(operations(schedule_, layout_.segments)) {
    check_size(plan, elements);
    for (auto const& step : plan.steps) world.make_communicators(step.groups);
    auto const bytes = layout_.length * size_of(element);
    std::size_t receive_room = 0;
    for (auto const& transfer : schedule_.transfers) {
        auto const& one = transfer.sent.empty() ? transfer.received : transfer.sent;
        if (!layout_.is_contiguous(one)) send_room_ = std::max(send_room_, one.size() * bytes);
        bool const is_direct =
            transfer.collective == Collective::all_gather && layout_.is_contiguous(transfer.received);
        bool const needs = transfer.collective == Collective::reduce_scatter ||
                           (transfer.collective == Collective::all_gather && !is_direct);
        if (needs) receive_room = std::max(receive_room, transfer.received.size() * bytes);
    }
    room_ = send_room_ + receive_room;
}

void Execution::run(std::byte* data, std::byte* scratch) const {
    Flight flight(*this, data, scratch);
    for (auto const& [transfer, segment] : order_) {
        flight.finish(segment);
        flight.start(schedule_.transfers[transfer], segment, layout_.segments == 1);
    }
    for (int segment = 0; segment < layout_.segments; ++segment) flight.finish(segment);
}

void check_size(Plan const& plan, std::size_t elements) {
    constexpr auto most = static_cast<std::size_t>(std::numeric_limits<int>::max());
    if (elements <= most && layout_of(plan, elements).padded() <= most) return;
    throw base::InputError("a payload of {} elements is too large for MPI's counts (at most {}): use a smaller --size",
                           elements, most);
}

void check_ranks(std::vector<Plan> const& plans, int ranks) {
    for (auto const& plan : plans) {
        std::set<int> seen;
        for (auto const& group : plan.groups) seen.insert(group.begin(), group.end());
        auto const devices = static_cast<int>(seen.size());
        if (devices == ranks && *seen.begin() == 0 && *seen.rbegin() == ranks - 1) continue;
        throw base::InputError("program {} is for {} devices, but there are {} ranks: start it with `mpiexec -n {} "
                               "espalier collectives ...` (MPICH's mpiexec)",
                               plan.id, devices, ranks, devices);
    }
}

} // namespace espalier::cluster::collectives
