#pragma once

#include "espalier/base/ids.hpp"
#include "espalier/problems/substitution/operators.hpp"

#include <cstdint>
#include <unordered_map>
#include <vector>

namespace espalier::problems::substitution {

using TensorId = std::int32_t;
inline constexpr TensorId no_tensor = -1;

/// The results of an operator for certain operands.
struct Made {
    TensorId first = no_tensor; ///< empty: it does not take them
    TensorId second = no_tensor;

    [[nodiscard]] bool is_there() const { return first != no_tensor; }
};

/// Inputs of graphs in the order of their classes.
class InputSlots {
public:
    InputSlots();
    [[nodiscard]] int count() const { return static_cast<int>(class_of_.size()); }
    [[nodiscard]] int class_of(int slot) const { return class_of_[static_cast<std::size_t>(slot)]; }
    [[nodiscard]] int first_of(int which) const { return first_of_[static_cast<std::size_t>(which)]; }
    [[nodiscard]] int number_of(int slot) const { return slot - first_of(class_of(slot)); }

private:
    std::vector<int> class_of_;
    std::array<int, class_count> first_of_{};
};
[[nodiscard]] InputSlots const& input_slots();

/// Tensors by what is in them: equal ones (in sizes, strides, marks and values) have one id. What operators make is
/// computed once; values of tensors that nothing has read yet are not kept. One per thread: ids mean nothing elsewhere.
class TensorTable {
public:
    TensorTable(Sizes const& sizes, std::uint64_t seed);

    [[nodiscard]] TensorId input(int slot) const { return inputs_[static_cast<std::size_t>(slot)]; }
    [[nodiscard]] bool is_input(TensorId id) const { return id < static_cast<TensorId>(inputs_.size()); }
    [[nodiscard]] Made made(Operator code, TensorId a, TensorId b);
    [[nodiscard]] Layout const& layout(TensorId id) const { return entries_[index(id)].tensor.layout; }
    /// Of sizes, strides, marks and values.
    [[nodiscard]] std::uint64_t print(TensorId id) const { return entries_[index(id)].print; }
    [[nodiscard]] std::size_t size() const { return entries_.size(); }

private:
    struct Origin {
        Operator code{};
        TensorId a = no_tensor, b = no_tensor;
        int output = 0;
    };
    struct Entry {
        Tensor tensor;
        std::uint64_t print = 0;
        Origin origin;
    };
    /// Of everything in a tensor: two halves, so that different tensors are not mistaken for one.
    struct Print {
        std::uint64_t first = 0, second = 0;
    };
    static std::size_t index(TensorId id) { return static_cast<std::size_t>(id); }
    [[nodiscard]] static Print print_of(Layout const& layout, Values const& values);
    [[nodiscard]] TensorId put(Layout const& layout, Values const& values, Origin const& origin);
    void fill(TensorId id);
    [[nodiscard]] Made make(Operator code, TensorId a, TensorId b);

    Sizes sizes_;
    Nonlinear relu_;
    std::vector<Entry> entries_;
    std::vector<TensorId> inputs_;
    std::unordered_map<std::uint64_t, std::pair<std::uint64_t, TensorId>> by_print_;
    std::unordered_map<std::uint64_t, Made> made_;
    Outputs scratch_;
};

} // namespace espalier::problems::substitution
