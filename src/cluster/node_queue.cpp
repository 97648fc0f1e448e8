#include "espalier/cluster/node_queue.hpp"

#include <algorithm>

namespace espalier::cluster {

double NodeQueue::key(search::PackedNode const& node) const {
    if (order_ == QueueOrder::priority) return node.priority;
    return order_ == QueueOrder::depth ? node.depth : 0;
}

void NodeQueue::push(search::PackedNode node) {
    auto const place = key(node);
    by_key_[place].push_back(std::move(node));
    ++size_;
}

void NodeQueue::push(search::PackedNodes nodes) {
    for (auto& node : nodes) push(std::move(node));
}

search::PackedNodes NodeQueue::pop(std::size_t most) {
    search::PackedNodes popped;
    for (auto n = std::min(most, size()); n > 0; --n, --size_) {
        auto const first = by_key_.begin();
        popped.push_back(std::move(first->second.front()));
        first->second.pop_front();
        if (first->second.empty()) by_key_.erase(first);
    }
    return popped;
}

void NodeQueue::copy_to(search::PackedNodes& out) const {
    for (auto const& [key, nodes] : by_key_) out.insert(out.end(), nodes.begin(), nodes.end());
}

void NodeQueue::clear() {
    by_key_.clear();
    size_ = 0;
}

} // namespace espalier::cluster
