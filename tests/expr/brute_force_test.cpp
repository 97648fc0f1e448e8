#include "expr/terms.hpp"

#include <gtest/gtest.h>

#include <map>
#include <numeric>
#include <set>
#include <unordered_map>

namespace espalier::expr {
namespace {

enum class Op : std::uint8_t { leaf, add, mul, div, sum, exponential, root };

/// A term of the universe, by the numbers of its operands.
struct Node {
    Op op{};
    int a = -1, b = -1; ///< `a` of a leaf is its index
    int size = 1;       ///< leaves and functions

    [[nodiscard]] bool is_binary() const { return op == Op::add || op == Op::mul || op == Op::div; }
};

struct Signature {
    int leaves = 2;
    std::vector<Op> functions; ///< of sum, exponential, root
    int max_size = 6;
};

/// All terms up to a size, and which of them the axioms make equal by steps through terms of the universe. Knows
/// nothing of normal forms: every instance of an axiom joins two classes, and so do equal operands.
class Universe {
public:
    explicit Universe(Signature const& signature) {
        build(signature);
        class_.resize(nodes_.size());
        std::iota(class_.begin(), class_.end(), 0);
        for (int t = 0; t < count(); ++t) apply_axioms(t);
        while (join_congruent()) {}
    }
    [[nodiscard]] int count() const { return static_cast<int>(nodes_.size()); }
    [[nodiscard]] Node const& operator[](int t) const { return nodes_[static_cast<std::size_t>(t)]; }
    [[nodiscard]] int class_of(int t) const {
        while (class_[static_cast<std::size_t>(t)] != t) t = class_[static_cast<std::size_t>(t)];
        return t;
    }
    /// The classes of all subterms of all terms of each class, as far as the universe goes.
    [[nodiscard]] std::map<int, std::set<int>> inner_classes() const {
        std::map<int, std::set<int>> out;
        for (int t = 0; t < count(); ++t) {
            auto const& node = (*this)[t];
            if (node.op == Op::leaf) continue;
            out[class_of(t)].insert(class_of(node.a));
            if (node.is_binary()) out[class_of(t)].insert(class_of(node.b));
        }
        return out;
    }

private:
    using Maybe = std::optional<int>;

    std::vector<Node> nodes_;
    mutable std::vector<int> class_;
    std::unordered_map<std::uint64_t, int> numbers_;

    static std::uint64_t key(Op op, int a, int b) {
        return static_cast<std::uint64_t>(op) << 60 | static_cast<std::uint64_t>(a + 1) << 30 |
               static_cast<std::uint64_t>(b + 1);
    }
    void push(Node const& node) {
        numbers_.emplace(key(node.op, node.a, node.b), count());
        nodes_.push_back(node);
    }
    void build(Signature const& signature) {
        for (int i = 0; i < signature.leaves; ++i) push({.op = Op::leaf, .a = i});
        for (int size = 2; size <= signature.max_size; ++size) {
            auto const smaller = count();
            for (int a = 0; a < smaller; ++a) {
                for (auto const f : signature.functions)
                    if ((*this)[a].size == size - 1) push({.op = f, .a = a, .size = size});
                for (int b = 0; b < smaller && (*this)[b].size <= size - (*this)[a].size; ++b)
                    if ((*this)[b].size == size - (*this)[a].size)
                        for (auto const op : {Op::add, Op::mul, Op::div})
                            push({.op = op, .a = a, .b = b, .size = size});
            }
        }
    }
    [[nodiscard]] Maybe find(Op op, Maybe a, Maybe b = -1) const {
        if (!a || !b) return {};
        auto const found = numbers_.find(key(op, *a, *b));
        return found == numbers_.end() ? Maybe{} : found->second;
    }
    void join(int t, Maybe other) {
        if (!other) return;
        auto const x = class_of(t), y = class_of(*other);
        class_[static_cast<std::size_t>(std::max(x, y))] = std::min(x, y);
    }
    bool join_congruent() {
        std::unordered_map<std::uint64_t, int> seen;
        bool is_changed = false;
        for (int t = 0; t < count(); ++t) {
            class_[static_cast<std::size_t>(t)] = class_of(t);
            auto const& node = (*this)[t];
            if (node.op == Op::leaf) continue;
            auto const same = key(node.op, class_of(node.a), node.is_binary() ? class_of(node.b) : -1);
            auto const [place, is_new] = seen.emplace(same, t);
            if (is_new || class_of(place->second) == class_of(t)) continue;
            join(t, place->second);
            is_changed = true;
        }
        return is_changed;
    }

    void apply_axioms(int t) {
        auto const node = (*this)[t];
        if (node.is_binary()) apply_binary(t, node.op, node.a, node.b);
        if (node.op == Op::sum) apply_sum(t, (*this)[node.a]);
    }
    void apply_binary(int t, Op op, int a, int b) {
        auto const x = (*this)[a], y = (*this)[b];
        if (op != Op::div) join(t, find(op, b, a));
        if (op != Op::div && y.op == op) join(t, find(op, find(op, a, y.a), y.b));
        if (op == Op::add) apply_distribution(t, x, y);
        if (op == Op::mul && y.op == Op::div) join(t, find(Op::div, find(Op::mul, a, y.a), y.b));
        if (op == Op::div && x.op == Op::div) join(t, find(Op::div, x.a, find(Op::mul, x.b, b)));
        if (op == Op::mul && x.op == Op::exponential && y.op == Op::exponential)
            join(t, find(Op::exponential, find(Op::add, x.a, y.a)));
        if (op == Op::mul && x.op == Op::root && y.op == Op::root) join(t, find(Op::root, find(Op::mul, x.a, y.a)));
    }
    void apply_distribution(int t, Node const& x, Node const& y) {
        for (auto const op : {Op::mul, Op::div})
            if (x.op == op && y.op == op && x.b == y.b) join(t, find(op, find(Op::add, x.a, y.a), x.b));
    }
    void apply_sum(int t, Node const& x) {
        if (x.op == Op::add) join(t, find(Op::add, find(Op::sum, x.a), find(Op::sum, x.b)));
        if (x.op == Op::mul || x.op == Op::div) join(t, find(x.op, find(Op::sum, x.a), x.b));
    }
};

/// The terms of a universe as expressions, by their numbers.
std::vector<Term> expressions_of(Universe const& universe, Expressions& in, int count) {
    std::vector<Term> terms;
    auto const at = [&](int t) { return terms[static_cast<std::size_t>(t)]; };
    for (int t = 0; t < count; ++t) {
        auto const& node = universe[t];
        switch (node.op) {
        case Op::leaf:
            terms.push_back(leaf(in, node.a));
            break;
        case Op::add:
            terms.push_back(at(node.a) + at(node.b));
            break;
        case Op::mul:
            terms.push_back(at(node.a) * at(node.b));
            break;
        case Op::div:
            terms.push_back(at(node.a) / at(node.b));
            break;
        case Op::sum:
            terms.push_back(sum(K, at(node.a)));
            break;
        case Op::exponential:
            terms.push_back(exp(at(node.a)));
            break;
        case Op::root:
            terms.push_back(sqrt(at(node.a)));
            break;
        }
    }
    return terms;
}

int count_up_to(Universe const& universe, int size) {
    int count = 0;
    while (count < universe.count() && universe[count].size <= size) ++count;
    return count;
}

/// Equal normal forms and equal classes, of all pairs of terms up to a size.
void expect_same_equalities(Universe const& universe, int size) {
    Expressions in;
    auto const count = count_up_to(universe, size);
    auto const terms = expressions_of(universe, in, count);
    std::map<int, ExprId> form_of_class;
    std::map<ExprId, int> class_of_form;

    for (int t = 0; t < count; ++t) {
        auto const term = terms[static_cast<std::size_t>(t)];
        auto const form = form_of_class.emplace(universe.class_of(t), term.id).first->second;
        auto const known = class_of_form.emplace(term.id, universe.class_of(t)).first->second;
        ASSERT_EQ(form, term.id) << "an axiom changes the form of " << term << " and " << in.text(form);
        ASSERT_EQ(known, universe.class_of(t)) << "equal only as forms: " << term;
    }
    EXPECT_GT(class_of_form.size(), 100u);
}

std::set<int> reachable(std::map<int, std::set<int>> const& inner, int from) {
    std::set<int> seen{from};
    std::vector<int> open{from};
    while (!open.empty()) {
        auto const next = inner.find(open.back());
        open.pop_back();
        if (next == inner.end()) continue;
        for (auto const c : next->second)
            if (seen.insert(c).second) open.push_back(c);
    }
    return seen;
}

struct Disagreements {
    int asked = 0;
    int yes = 0;
    int missed = 0; ///< parts by explicit search that is_part() denies
    int extra = 0;  ///< parts only by is_part()
};

/// One term of each class, up to a size.
std::vector<int> one_a_class(Universe const& universe, int size) {
    std::vector<int> out;
    std::set<int> seen;
    for (int t = 0; t < count_up_to(universe, size); ++t)
        if (seen.insert(universe.class_of(t)).second) out.push_back(t);
    return out;
}

/// Asks for all terms up to a size in all targets up to a size.
Disagreements compare_parts(Universe const& universe, int size, int target_size) {
    Expressions in;
    auto const terms = expressions_of(universe, in, count_up_to(universe, std::max(size, target_size)));
    auto const inner = universe.inner_classes();
    Disagreements out;
    for (auto const target : one_a_class(universe, target_size)) {
        in.set_targets({{terms[static_cast<std::size_t>(target)].id}});
        auto const parts = reachable(inner, universe.class_of(target));
        for (auto const e : one_a_class(universe, size)) {
            auto const answer = in.is_part(terms[static_cast<std::size_t>(e)].id);
            auto const is_yes = answer == Expressions::Answer::yes, is_found = parts.contains(universe.class_of(e));
            ++out.asked;
            out.yes += is_yes;
            out.missed += is_found && !is_yes;
            out.extra += is_yes && !is_found;
        }
    }
    return out;
}

Signature const arithmetic{.leaves = 2, .functions = {}, .max_size = 6};
Signature const functions{.leaves = 1, .functions = {Op::sum, Op::exponential, Op::root}, .max_size = 6};

TEST(BruteForce, forms_are_equal_if_and_only_if_the_axioms_say_so) {
    expect_same_equalities(Universe(arithmetic), 4);
    expect_same_equalities(Universe(functions), 4);
}

TEST(BruteForce, parts_of_small_terms_are_those_of_an_explicit_search) {
    for (auto const& signature : {arithmetic, functions}) {
        auto const found = compare_parts(Universe(signature), 3, 3);

        EXPECT_GT(found.yes, 100);
        EXPECT_GT(found.asked, 2 * found.yes);
        EXPECT_EQ(found.missed, 0);
        EXPECT_EQ(found.extra, 0);
    }
}

TEST(BruteForce, no_part_of_a_larger_term_is_missed) {
    for (auto const& signature : {arithmetic, functions}) {
        auto const found = compare_parts(Universe(signature), 3, 5);

        EXPECT_GT(found.yes, 10'000);
        EXPECT_EQ(found.missed, 0);
    }
}

} // namespace
} // namespace espalier::expr
