#include "augmentation.hpp"

#include "espalier/base/hash.hpp"
#include "espalier/problems/substitution/tensor_table.hpp"

#include <algorithm>

namespace espalier::problems::substitution {
namespace {

using base::hash_combine;

/// Tries to map one tensor to another; false if that contradicts what is mapped already.
bool map_ref(Automorphism& found, Ref from, Ref to) {
    if (from == no_ref || to == no_ref) return from == to;
    if (is_result(from) != is_result(to)) return false;
    if (is_result(from))
        return found.op[static_cast<std::size_t>(maker_of(from))] == maker_of(to) && from % 2 == to % 2;
    if (input_slots().class_of(from) != input_slots().class_of(to)) return false;
    auto& image = found.input[from];
    if (image >= 0) return image == to;
    if (std::ranges::find(found.input, static_cast<std::int8_t>(to)) != found.input.end()) return false;
    image = static_cast<std::int8_t>(to);
    return true;
}

/// Names for the operators and inputs of a graph, given in some order.
class Naming {
public:
    explicit Naming(OperatorGraph const& graph, int last) : graph_(graph), last_(last) {
        place_.fill(-1);
        name_.fill(no_ref);
    }
    [[nodiscard]] OperatorGraph best() {
        extend();
        return best_;
    }

private:
    void extend() {
        if (made_.count == graph_.count) {
            if (best_.count == 0 || made_ < best_) best_ = made_;
            return;
        }
        for (int op = 0; op < graph_.count; ++op) {
            auto const& row = graph_.ops[static_cast<std::size_t>(op)];
            if (place_[static_cast<std::size_t>(op)] >= 0 || (op == last_ && made_.count + 1 < graph_.count)) continue;
            if (!is_ready(row.a) || !is_ready(row.b)) continue;
            put(op, row);
            if (info(row.code).is_commutative) put(op, {row.code, row.b, row.a}); // which of two new inputs comes first
        }
    }
    void put(int op, GraphOp const& row) {
        auto const names = name_;
        auto const used = used_;
        auto const a = named(row.a), b = named(row.b);
        place_[static_cast<std::size_t>(op)] = static_cast<std::int8_t>(made_.count);
        made_.push(sorted({row.code, a, b}));
        extend();
        made_.ops[--made_.count] = {};
        place_[static_cast<std::size_t>(op)] = -1;
        name_ = names;
        used_ = used;
    }
    [[nodiscard]] bool is_ready(Ref ref) const {
        return !is_result(ref) || place_[static_cast<std::size_t>(maker_of(ref))] >= 0;
    }
    [[nodiscard]] Ref named(Ref ref) {
        if (ref == no_ref) return ref;
        if (is_result(ref)) return result_of(place_[static_cast<std::size_t>(maker_of(ref))], (ref - first_result) % 2);
        auto const which = input_slots().class_of(ref);
        if (name_[ref] == no_ref)
            name_[ref] = static_cast<Ref>(input_slots().first_of(which) + used_[static_cast<std::size_t>(which)]++);
        return name_[ref];
    }

    OperatorGraph const& graph_;
    int last_;
    OperatorGraph made_, best_;
    std::array<std::int8_t, max_ops> place_{};
    std::array<Ref, first_result> name_{};
    std::array<std::uint8_t, class_count> used_{};
};

/// Whether things that must come one before the other can: at most 8 of them.
class Order {
public:
    void add(int before, int after) { after_[static_cast<std::size_t>(before)] |= 1u << after; }
    [[nodiscard]] bool exists(int count) const {
        auto left = (1u << count) - 1;
        while (left != 0) {
            auto const next = first_without_predecessor(count, left);
            if (next < 0) return false;
            left &= ~(1u << next);
        }
        return true;
    }

private:
    [[nodiscard]] int first_without_predecessor(int count, unsigned left) const {
        unsigned later = 0;
        for (int i = 0; i < count; ++i)
            if ((left >> i & 1u) != 0) later |= after_[static_cast<std::size_t>(i)];
        for (int i = 0; i < count; ++i)
            if ((left & ~later) >> i & 1u) return i;
        return -1;
    }
    std::array<unsigned, 8> after_{};
};

/// What one concat asks of inputs and operators; false if that cannot be.
bool add_concat(Ref a, Ref b, Order& ops, std::array<Order, class_count>& inputs) {
    auto const& slots = input_slots();
    if (is_result(a) != is_result(b)) return is_result(b);
    if (is_result(a)) {
        if (maker_of(a) == maker_of(b)) return a < b;
        ops.add(maker_of(a), maker_of(b));
        return true;
    }
    auto const of_a = slots.class_of(a), of_b = slots.class_of(b);
    if (of_a == of_b) inputs[static_cast<std::size_t>(of_a)].add(slots.number_of(a), slots.number_of(b));
    return of_a <= of_b;
}

} // namespace

Ref Automorphism::of(Ref ref) const {
    if (ref == no_ref) return ref;
    if (is_result(ref)) return result_of(op[static_cast<std::size_t>(maker_of(ref))], (ref - first_result) % 2);
    return input[ref] < 0 ? ref : static_cast<Ref>(input[ref]);
}
GraphOp Automorphism::of(GraphOp const& from) const { return sorted({from.code, of(from.a), of(from.b)}); }

Parent::Parent(OperatorGraph const& graph) : graph_(graph) {
    for (int op = 0; op < graph.count; ++op) {
        auto const i = static_cast<std::size_t>(op);
        hashes_[i] = hash_of(graph.ops[i]);
        is_read_[i] = graph.is_read(op);
    }
    Automorphism found;
    found.op.fill(-1);
    found.input.fill(-1);
    find_automorphisms(0, found);
}

std::uint64_t Parent::hash_of(Ref ref) const {
    if (ref == no_ref) return 1;
    if (!is_result(ref)) return 2 + static_cast<std::uint64_t>(input_slots().class_of(ref));
    return hash_combine(hashes_[static_cast<std::size_t>(maker_of(ref))], ref % 2u);
}
std::uint64_t Parent::hash_of(GraphOp const& op) const {
    auto a = hash_of(op.a), b = hash_of(op.b);
    if (info(op.code).is_commutative && a > b) std::swap(a, b);
    return hash_combine(hash_combine(static_cast<std::uint64_t>(op.code) + 100, a), b);
}

void Parent::find_automorphisms(int op, Automorphism& found) {
    if (op == graph_.count) {
        auto const moves = [&](int i) { return found.op[static_cast<std::size_t>(i)] != i; };
        bool is_identity = true;
        for (int i = 0; i < graph_.count; ++i) is_identity = is_identity && !moves(i);
        for (std::size_t i = 0; i < found.input.size(); ++i)
            is_identity = is_identity && (found.input[i] < 0 || found.input[i] == static_cast<std::int8_t>(i));
        if (!is_identity) automorphisms_.push_back(found);
        return;
    }
    auto const& from = graph_.ops[static_cast<std::size_t>(op)];
    for (int to = 0; to < graph_.count; ++to) {
        auto const& image = graph_.ops[static_cast<std::size_t>(to)];
        if (hashes_[static_cast<std::size_t>(to)] != hashes_[static_cast<std::size_t>(op)] ||
            std::ranges::find(found.op, static_cast<std::int8_t>(to)) != found.op.end())
            continue;
        auto const before = found;
        auto const try_it = [&](Ref a, Ref b) {
            if (map_ref(found, from.a, a) && map_ref(found, from.b, b)) {
                found.op[static_cast<std::size_t>(op)] = static_cast<std::int8_t>(to);
                find_automorphisms(op + 1, found);
            }
            found = before;
        };
        try_it(image.a, image.b);
        if (info(from.code).is_commutative) try_it(image.b, image.a);
    }
}

/// Of the extensions that an automorphism of the graph turns into each other, one is made.
bool Parent::is_least_of_its_kind(GraphOp const& op) const {
    return std::ranges::none_of(automorphisms_, [&](Automorphism const& other) { return other.of(op) < op; });
}

bool Parent::is_last_among(GraphOp const& op, std::vector<int> const& equals) const {
    auto child = graph_;
    child.push(op);
    auto const mine = canonical(child, graph_.count);
    return std::ranges::none_of(equals, [&](int other) { return canonical(child, other) < mine; });
}

bool Parent::may_accept(GraphOp const& op) const {
    auto const hash = hash_of(op);
    for (int other = 0; other < graph_.count; ++other) {
        auto const i = static_cast<std::size_t>(other);
        if (!is_read_[i] && hashes_[i] > hash && !op.reads(other)) return false;
    }
    return true;
}

bool Parent::accepts(GraphOp const& op) const {
    auto const hash = hash_of(op);
    std::vector<int> equals;
    for (int other = 0; other < graph_.count; ++other) {
        auto const i = static_cast<std::size_t>(other);
        if (!is_read_[i] && hashes_[i] == hash && !op.reads(other)) equals.push_back(other);
    }
    return is_least_of_its_kind(op) && (equals.empty() || is_last_among(op, equals));
}

OperatorGraph canonical(OperatorGraph const& graph, int last) { return Naming(graph, last).best(); }

bool has_order(OperatorGraph const& graph) {
    Order ops;
    std::array<Order, class_count> inputs;
    for (int op = 0; op < graph.count; ++op) {
        auto const& [code, a, b] = graph.ops[static_cast<std::size_t>(op)];
        for (auto const ref : {a, b})
            if (is_result(ref)) ops.add(maker_of(ref), op);
        if (info(code).concat_axis >= 0 && !add_concat(a, b, ops, inputs)) return false;
    }
    for (std::size_t i = 0; i < class_count; ++i)
        if (!inputs[i].exists(input_classes()[i].count)) return false;
    return ops.exists(graph.count);
}

} // namespace espalier::problems::substitution
