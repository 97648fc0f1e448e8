#include "espalier/cluster/node_queue.hpp"

#include <algorithm>

namespace espalier::cluster {

void NodeQueue::push(search::PackedNode node) {
    if (!has_priority_) return in_order_.push_back(std::move(node));
    auto const priority = node.priority;
    by_priority_.emplace(priority, std::move(node));
}

void NodeQueue::push(search::PackedNodes nodes) {
    for (auto& node : nodes) push(std::move(node));
}

search::PackedNodes NodeQueue::pop(std::size_t most) {
    search::PackedNodes popped;
    for (auto n = std::min(most, size()); n > 0; --n) {
        if (has_priority_) {
            popped.push_back(std::move(by_priority_.begin()->second));
            by_priority_.erase(by_priority_.begin());
        } else {
            popped.push_back(std::move(in_order_.front()));
            in_order_.pop_front();
        }
    }
    return popped;
}

void NodeQueue::copy_to(search::PackedNodes& out) const {
    out.insert(out.end(), in_order_.begin(), in_order_.end());
    for (auto const& [priority, node] : by_priority_) out.push_back(node);
}

void NodeQueue::clear() {
    in_order_.clear();
    by_priority_.clear();
}

} // namespace espalier::cluster
