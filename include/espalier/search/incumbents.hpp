#pragma once

#include "espalier/search/types.hpp"

#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

/// The best costs so far. Branch and bound has one for all results, or, where a problem names classes (form, placement
/// pair, budget), one for each class, which prunes nodes of its own class only.
namespace espalier::search {

struct ClassCost {
    std::uint64_t class_key = 0;
    double cost = no_incumbent;

    bool operator==(ClassCost const&) const = default;
};
/// Sorted by class, each once. A class that is not in it has no cost yet.
using ClassCosts = std::vector<ClassCost>;

[[nodiscard]] double cost_of(ClassCosts const& costs, std::uint64_t class_key);
/// Takes what is cheaper than what was known. True if anything was.
bool lower(ClassCosts& known, ClassCost const& news);
bool lower(ClassCosts& known, ClassCosts const& news);

struct Incumbents {
    double best = no_incumbent; ///< of all classes
    ClassCosts classes;         ///< empty if the problem has none
};

/// The costs by class that the threads of a rank share. They get better seldom and are asked for all the time, so every
/// thread keeps a copy and takes a new one when the number of changes says so. Thread safe.
class ClassBoard {
public:
    struct Copy {
        ClassCosts costs;
        std::uint64_t changes = 0;
    };
    void offer(ClassCosts const& costs);
    [[nodiscard]] ClassCosts costs() const;
    /// A cost that is a moment old does no harm: it only prunes less.
    [[nodiscard]] double cost_of(std::uint64_t class_key, Copy& copy) const {
        if (changes_.load(std::memory_order_relaxed) != copy.changes) renew(copy);
        return search::cost_of(copy.costs, class_key);
    }

private:
    void renew(Copy& copy) const;

    mutable std::mutex mutex_;
    ClassCosts costs_;
    std::atomic<std::uint64_t> changes_{0};
};

} // namespace espalier::search
