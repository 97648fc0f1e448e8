#pragma once

#include "espalier/base/contract.hpp"

#include <cstddef>
#include <initializer_list>
#include <utility>
#include <vector>

namespace espalier::base {

/// Ids one after the other, for a loop. (clang 14 does not compile the views of libstdc++ 12.)
template <class Id>
class IdRange {
public:
    using Number = decltype(Id::value);

    class Iterator {
    public:
        Iterator(Number at, Number step) : at_(at), step_(step) {}
        [[nodiscard]] Id operator*() const { return Id{at_}; }
        Iterator& operator++() {
            at_ += step_;
            return *this;
        }
        [[nodiscard]] bool operator==(Iterator const& other) const { return at_ == other.at_; }

    private:
        Number at_;
        Number step_;
    };

    /// From the first one up to, and without, the last one.
    IdRange(Number first, Number last, Number step) : first_(first), last_(last), step_(step) {}
    [[nodiscard]] Iterator begin() const { return {first_, step_}; }
    [[nodiscard]] Iterator end() const { return {last_, step_}; }

private:
    Number first_;
    Number last_;
    Number step_;
};

/// A vector that is indexed by ids of one kind, and by nothing else.
template <class Id, class T>
class IndexedVector {
public:
    using value_type = T;
    using reference = typename std::vector<T>::reference;
    using const_reference = typename std::vector<T>::const_reference;

    IndexedVector() = default;
    explicit IndexedVector(std::size_t count) : items_(count) {}
    IndexedVector(std::size_t count, T const& value) : items_(count, value) {}
    IndexedVector(std::initializer_list<T> items) : items_(items) {}
    IndexedVector(std::vector<T> items) : items_(std::move(items)) {} ///< item i gets id i

    [[nodiscard]] const_reference operator[](Id id) const { return items_[place(id)]; }
    [[nodiscard]] reference operator[](Id id) { return items_[place(id)]; }
    /// The id of what is added.
    Id push_back(T item) {
        items_.push_back(std::move(item));
        return Id{static_cast<decltype(Id::value)>(items_.size() - 1)};
    }
    void pop_back() { items_.pop_back(); }
    /// Ids of what comes after change.
    template <class Predicate>
    void erase_if(Predicate&& predicate) {
        std::erase_if(items_, std::forward<Predicate>(predicate));
    }
    void clear() { items_.clear(); }
    void reserve(std::size_t count) { items_.reserve(count); }
    void resize(std::size_t count) { items_.resize(count); }

    [[nodiscard]] std::size_t size() const { return items_.size(); }
    [[nodiscard]] bool empty() const { return items_.empty(); }
    /// Whether there is something of this id.
    [[nodiscard]] bool contains(Id id) const { return id.value >= 0 && static_cast<std::size_t>(id.value) < size(); }
    /// The id that the next item will have.
    [[nodiscard]] Id next() const { return Id{static_cast<decltype(Id::value)>(size())}; }
    /// All ids, in order.
    [[nodiscard]] IdRange<Id> ids() const { return {0, next().value, 1}; }
    /// The last one first.
    [[nodiscard]] IdRange<Id> reversed_ids() const { return {next().value - 1, -1, -1}; }
    [[nodiscard]] auto begin() const { return items_.begin(); }
    [[nodiscard]] auto end() const { return items_.end(); }
    [[nodiscard]] auto begin() { return items_.begin(); }
    [[nodiscard]] auto end() { return items_.end(); }
    [[nodiscard]] const_reference back() const { return items_.back(); }
    [[nodiscard]] reference back() { return items_.back(); }

    bool operator==(IndexedVector const&) const = default;

private:
    [[nodiscard]] std::size_t place(Id id) const {
        ESP_EXPECT(contains(id));
        return static_cast<std::size_t>(id.value);
    }

    std::vector<T> items_;
};

} // namespace espalier::base
