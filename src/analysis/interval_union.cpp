#include "interval_union.hpp"

#include <algorithm>

namespace espalier::analysis {

/// Joins the `count` earliest of the pending intervals to the union.
void IntervalUnion::close(std::size_t count) {
    if (!std::ranges::is_sorted(pending_)) std::ranges::sort(pending_);
    for (std::size_t i = 0; i < count; ++i) {
        auto const& next = pending_[i];
        if (!has_any_) {
            last_ = next;
            first_ = next.from;
            has_any_ = true;
        } else if (next.from <= last_.to) {
            last_.to = std::max(last_.to, next.to);
        } else {
            close_last();
            if (next.from - last_.to >= min_gap_) gaps_.push_back({last_.to, next.from});
            last_ = next;
        }
    }
    pending_.erase(pending_.begin(), pending_.begin() + static_cast<std::ptrdiff_t>(count));
    if (outer_ != nullptr && has_any_) outer_->add(last_.from, last_.to); // it may stay open for long
}

void IntervalUnion::close_last() {
    covered_ += last_.to - last_.from;
    if (outer_ != nullptr) outer_->add(last_.from, last_.to);
}

void IntervalUnion::finish() {
    close(pending_.size());
    close_last();
}

} // namespace espalier::analysis
