#pragma once

#include "espalier/base/rng.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace espalier::expr {

/// Keeps lists where they never move.
template <class T>
class Pool {
public:
    [[nodiscard]] std::span<T const> keep(std::span<T const> values) {
        if (values.empty()) return {};
        if (values.size() > room_.size()) add_block(values.size());
        auto const out = room_.first(values.size());
        std::ranges::copy(values, out.begin());
        room_ = room_.subspan(values.size());
        return out;
    }
    [[nodiscard]] std::size_t memory_bytes() const { return size_bytes_; }

private:
    static constexpr std::size_t block = 1024;

    void add_block(std::size_t at_least) {
        auto const size = std::max(block, at_least);
        blocks_.push_back(std::make_unique<T[]>(size));
        room_ = {blocks_.back().get(), size};
        size_bytes_ += size * sizeof(T);
    }

    std::vector<std::unique_ptr<T[]>> blocks_;
    std::span<T> room_;
    std::size_t size_bytes_ = 0;
};

/// Finds the number of a value by its hash; whoever owns the values compares them.
class IdTable {
public:
    static constexpr std::uint32_t none = 0xFFFF'FFFF;

    template <class IsEqual>
    [[nodiscard]] std::uint32_t find(std::uint64_t hash, IsEqual const& is_equal) const {
        auto const short_hash = static_cast<std::uint32_t>(hash);
        for (auto i = short_hash & (slots_.size() - 1); slots_[i].id != none; i = (i + 1) & (slots_.size() - 1))
            if (slots_[i].hash == short_hash && is_equal(slots_[i].id)) return slots_[i].id;
        return none;
    }
    void insert(std::uint64_t hash, std::uint32_t id) {
        if (2 * (count_ + 1) > slots_.size()) grow();
        place({static_cast<std::uint32_t>(hash), id});
        ++count_;
    }
    [[nodiscard]] std::size_t memory_bytes() const { return slots_.capacity() * sizeof(Slot); }

private:
    struct Slot {
        std::uint32_t hash = 0;
        std::uint32_t id = none;
    };

    void place(Slot slot) {
        auto i = slot.hash & (slots_.size() - 1);
        while (slots_[i].id != none) i = (i + 1) & (slots_.size() - 1);
        slots_[i] = slot;
    }
    void grow() {
        auto const old = std::exchange(slots_, std::vector<Slot>(2 * slots_.size()));
        for (auto const& slot : old)
            if (slot.id != none) place(slot);
    }

    std::vector<Slot> slots_ = std::vector<Slot>(64);
    std::size_t count_ = 0;
};

/// The numbers of a list of values mixed into one.
class Hash {
public:
    Hash& add(std::uint64_t value) {
        state_ = base::Rng::mix(state_ * 31 + value);
        return *this;
    }
    template <class Id>
    Hash& add(std::span<Id const> ids) {
        for (auto const id : ids) add(id.value);
        return *this;
    }
    [[nodiscard]] std::uint64_t value() const { return state_; }

private:
    std::uint64_t state_ = 0x243F6A8885A308D3ull;
};

} // namespace espalier::expr
