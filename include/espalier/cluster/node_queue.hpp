#pragma once

#include "espalier/search/types.hpp"

#include <cstdint>
#include <deque>
#include <map>

namespace espalier::cluster {

enum class QueueOrder : std::uint8_t {
    arrival,  ///< first in, first out
    depth,    ///< the shallowest first, which have the largest subtrees: work spreads with the fewest messages
    priority, ///< the most promising first, for problems that have priorities
};

/// Subtrees that nobody works on, in an order; equals leave in the order of their arrival.
class NodeQueue {
public:
    explicit NodeQueue(QueueOrder order) : order_(order) {}

    [[nodiscard]] std::size_t size() const { return size_; }
    [[nodiscard]] bool empty() const { return size() == 0; }
    void push(search::PackedNode node);
    void push(search::PackedNodes nodes);
    [[nodiscard]] search::PackedNodes pop(std::size_t most);
    void copy_to(search::PackedNodes& out) const;
    void clear();

private:
    [[nodiscard]] double key(search::PackedNode const& node) const;

    QueueOrder order_;
    std::map<double, std::deque<search::PackedNode>> by_key_; ///< no list is empty
    std::size_t size_ = 0;
};

} // namespace espalier::cluster
