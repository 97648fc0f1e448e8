#include "espalier/search/incumbents.hpp"

#include <algorithm>

namespace espalier::search {

double cost_of(ClassCosts const& costs, std::uint64_t class_key) {
    auto const at = std::ranges::lower_bound(costs, class_key, {}, &ClassCost::class_key);
    return at != costs.end() && at->class_key == class_key ? at->cost : no_incumbent;
}

bool lower(ClassCosts& known, ClassCost const& news) {
    if (!(news.cost < cost_of(known, news.class_key))) return false;
    auto const at = std::ranges::lower_bound(known, news.class_key, {}, &ClassCost::class_key);
    if (at != known.end() && at->class_key == news.class_key)
        at->cost = news.cost;
    else
        known.insert(at, news);
    return true;
}

bool lower(ClassCosts& known, ClassCosts const& news) {
    bool has_changed = false;
    for (auto const& one : news) has_changed = lower(known, one) || has_changed;
    return has_changed;
}

void ClassBoard::offer(ClassCosts const& costs) {
    if (costs.empty()) return;
    std::lock_guard const lock(mutex_);
    if (lower(costs_, costs)) changes_.fetch_add(1, std::memory_order_relaxed);
}

ClassCosts ClassBoard::costs() const {
    std::lock_guard const lock(mutex_);
    return costs_;
}

void ClassBoard::renew(Copy& copy) const {
    std::lock_guard const lock(mutex_);
    copy.costs = costs_;
    copy.changes = changes_.load(std::memory_order_relaxed);
}

} // namespace espalier::search
