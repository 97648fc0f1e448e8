#pragma once

#include "espalier/search/types.hpp"

#include <deque>
#include <map>

namespace espalier::cluster {

/// Subtrees that nobody works on: first in first out, or the most promising first if the problem has priorities.
class NodeQueue {
public:
    explicit NodeQueue(bool has_priority) : has_priority_(has_priority) {}

    [[nodiscard]] std::size_t size() const { return has_priority_ ? by_priority_.size() : in_order_.size(); }
    [[nodiscard]] bool empty() const { return size() == 0; }
    void push(search::PackedNode node);
    void push(search::PackedNodes nodes);
    [[nodiscard]] search::PackedNodes pop(std::size_t most);
    void copy_to(search::PackedNodes& out) const;
    void clear();

private:
    bool has_priority_;
    std::deque<search::PackedNode> in_order_;
    std::multimap<double, search::PackedNode> by_priority_;
};

} // namespace espalier::cluster
