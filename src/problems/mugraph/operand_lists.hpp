#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

/// Which operands an op of any arity may have, each list once.
namespace espalier::problems::mugraph {

using OperandList = std::vector<std::uint8_t>;

namespace lists {

/// Calls take(list) for the non-decreasing lists that begin as `list` does and end in `newest`.
template <class Take>
void for_each_sorted(OperandList& list, std::size_t at, std::uint8_t newest, Take&& take) {
    if (at + 1 == list.size()) {
        list[at] = newest;
        return take(list);
    }
    for (std::uint8_t next = at == 0 ? std::uint8_t{0} : list[at - 1]; next <= newest; ++next) {
        list[at] = next;
        for_each_sorted(list, at + 1, newest, take);
    }
}

} // namespace lists

/// Whether the order of operands matters.
enum class OperandOrder : std::uint8_t { matters, commutes };

/// Calls take(list) for every list of `arity` tensors whose newest is `newest`; of those that an op that commutes does
/// not tell apart, for one.
template <class Take>
void for_each_list(int arity, OperandOrder order, int newest, Take&& take) {
    OperandList list(static_cast<std::size_t>(arity));
    lists::for_each_sorted(list, 0, static_cast<std::uint8_t>(newest), [&](OperandList const& sorted) {
        auto next = sorted;
        do take(next);
        while (order == OperandOrder::matters && std::ranges::next_permutation(next).found);
    });
}

/// Calls take(list) for sums of `terms` products of pairs, as [left.., right..], with `newest` the newest tensor. The
/// order of terms does not matter.
template <class Take>
void for_each_sum_of_products(std::span<std::pair<int, int> const> pairs, int terms, int newest, Take&& take) {
    auto const count = static_cast<std::size_t>(terms);
    OperandList list(2 * count);
    auto const add = [&](auto const& self, std::size_t term, std::size_t from) -> void {
        if (term == count) {
            if (std::ranges::max(list) == newest) take(list);
            return;
        }
        for (auto i = from; i < pairs.size(); ++i) {
            list[term] = static_cast<std::uint8_t>(pairs[i].first);
            list[term + count] = static_cast<std::uint8_t>(pairs[i].second);
            self(self, term + 1, i);
        }
    };
    add(add, 0, 0);
}

} // namespace espalier::problems::mugraph
