#include "espalier/problems/substitution/tensor_table.hpp"

#include "espalier/base/contract.hpp"
#include "espalier/base/hash.hpp"
#include "espalier/base/rng.hpp"
#include "espalier/field/mersenne.hpp"

namespace espalier::problems::substitution {
namespace {

using F = field::Mersenne61;

std::uint64_t mixed(std::uint64_t seed, std::uint64_t value) {
    auto x = (seed ^ value) * 0x9E3779B97F4A7C15u;
    x ^= x >> 32;
    return x * 0xD6E8FEB86659FD93u + value;
}

std::uint64_t layout_print(Layout const& layout) {
    auto out = static_cast<std::uint64_t>(layout.rank);
    for (int i = 0; i < layout.rank; ++i) {
        auto const d = static_cast<std::size_t>(i);
        out = base::hash_combine(out, static_cast<std::uint64_t>(layout.dims[d]) << 32 |
                                          static_cast<std::uint32_t>(layout.strides[d]));
    }
    for (auto const& marks : layout.marks) {
        out = base::hash_combine(out, marks.count);
        for (std::size_t i = 0; i < marks.count; ++i) out = base::hash_combine(out, marks.at[i]);
    }
    return out;
}

} // namespace

InputSlots::InputSlots() {
    for (std::size_t i = 0; i < class_count; ++i) {
        first_of_[i] = count();
        class_of_.insert(class_of_.end(), static_cast<std::size_t>(input_classes()[i].count), static_cast<int>(i));
    }
}
InputSlots const& input_slots() {
    static InputSlots const slots;
    return slots;
}

TensorTable::TensorTable(Sizes const& sizes, std::uint64_t seed) : sizes_(sizes) {
    base::Rng rng{base::Seed{seed}};
    auto const draw = [&] { return F::reduced(rng()); };
    relu_ = {draw(), draw(), draw()};
    for (int slot = 0; slot < input_slots().count(); ++slot) {
        auto const which = input_slots().class_of(slot);
        auto const& row = input_classes()[static_cast<std::size_t>(which)];
        auto const layout = contiguous(row.rank, row.dims(sizes));
        Values values(static_cast<std::size_t>(layout.size()));
        for (auto& value : values) value = draw();
        inputs_.push_back(put(layout, values, {}));
        auto& tensor = entries_[index(inputs_.back())].tensor;
        tensor.values = std::move(values);
        tensor.input_class = which;
    }
}

TensorTable::Print TensorTable::print_of(Layout const& layout, Values const& values) {
    auto const start = layout_print(layout);
    Print out{start, ~start};
    for (auto const value : values) {
        out.first = mixed(out.first, value);
        out.second = F::add(F::mul(F::reduced(out.second), 0x1234567890ABCDEu), value);
    }
    return out;
}

TensorId TensorTable::put(Layout const& layout, Values const& values, Origin const& origin) {
    auto const print = print_of(layout, values);
    auto const [at, is_new] = by_print_.try_emplace(print.first, print.second, static_cast<TensorId>(entries_.size()));
    if (!is_new) {
        ESP_ASSERT(at->second.first == print.second);
        return at->second.second;
    }
    entries_.push_back({.tensor = {.layout = layout, .values = {}}, .print = print.first, .origin = origin});
    return at->second.second;
}

/// Values that were thrown away are computed again when somebody reads them.
void TensorTable::fill(TensorId id) {
    if (id == no_tensor || !entries_[index(id)].tensor.values.empty()) return;
    auto const origin = entries_[index(id)].origin;
    fill(origin.a);
    fill(origin.b);
    auto const operand = [&](TensorId of) { return of == no_tensor ? nullptr : &entries_[index(of)].tensor; };
    Operands const in{operand(origin.a), operand(origin.b), sizes_};
    auto const& row = info(origin.code);
    auto const layouts = row.layout(origin.code, in);
    ESP_ASSERT(layouts.has_value());
    Outputs out;
    for (std::size_t i = 0; i < static_cast<std::size_t>(layouts->count); ++i)
        out.of[i].resize(static_cast<std::size_t>(layouts->of[i].size()));
    row.values(origin.code, in, relu_, *layouts, out);
    entries_[index(id)].tensor.values = std::move(out.of[static_cast<std::size_t>(origin.output)]);
}

Made TensorTable::make(Operator code, TensorId a, TensorId b) {
    auto const operand = [&](TensorId of) { return of == no_tensor ? nullptr : &entries_[index(of)].tensor; };
    auto const& row = info(code);
    auto const layouts = row.layout(code, {operand(a), operand(b), sizes_});
    if (!layouts) return {};
    fill(a);
    fill(b);
    for (std::size_t i = 0; i < static_cast<std::size_t>(layouts->count); ++i)
        scratch_.of[i].resize(static_cast<std::size_t>(layouts->of[i].size()));
    row.values(code, {operand(a), operand(b), sizes_}, relu_, *layouts, scratch_);
    Made out{.first = put(layouts->of[0], scratch_.of[0], {code, a, b, 0})};
    if (layouts->count > 1) out.second = put(layouts->of[1], scratch_.of[1], {code, a, b, 1});
    return out;
}

Made TensorTable::made(Operator code, TensorId a, TensorId b) {
    auto const key = static_cast<std::uint64_t>(code) << 56 | static_cast<std::uint64_t>(a + 1) << 28 |
                     static_cast<std::uint64_t>(b + 1);
    if (auto const known = made_.find(key); known != made_.end()) return known->second;
    auto const out = make(code, a, b);
    made_.emplace(key, out);
    return out;
}

} // namespace espalier::problems::substitution
