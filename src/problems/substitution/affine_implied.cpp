#include "affine_implied.hpp"

#include <algorithm>
#include <deque>
#include <set>

namespace espalier::problems::substitution::affine {
namespace {

constexpr Sizes small_sizes{.channels = 2, .out_channels = 2, .groups = 2, .merged = 2, .kernel = 1, .width = 1};
constexpr std::uint64_t implied_seed = 61'803;
constexpr std::size_t most_graphs = 150; ///< of a closure

using NodeId = int;
using ConstantId = int;
constexpr int nothing = -1;

/// A constant, with what is known of its sign: 0 is nothing.
struct Constant {
    Tensor value;
    int sign = 0;
};

/// An operator, or an input if it reads nothing.
struct Expression {
    int code = 0;
    NodeId x = nothing, y = nothing;
    ConstantId p = nothing, q = nothing;

    auto operator<=>(Expression const&) const = default;
};

int folded_sign(TermOp op, int a, int b) {
    if (op == TermOp::mul || op == TermOp::div) return a * b;
    return op == TermOp::add && a == b ? a : 0;
}

} // namespace

/// All that the sides of one rule can be rewritten into. Equal expressions are one node.
class Closure {
public:
    Closure(Kept const& kept, Rule const& rule)
        : kept_(kept), space_(kept.space_), world_(space_, small_sizes, implied_seed, signs_of(rule)), rule_(rule),
          most_ops_(std::max(rule.left.count, rule.right.count)) {
        for (int i = 0; i < space_.data_inputs(); ++i) (void)node({.code = -1 - i});
    }

    [[nodiscard]] bool joins() {
        auto const left = import(rule_.left), right = import(rule_.right);
        if (left == right) return true;
        return reach(left, 0) || reach(right, 1) || spread();
    }

private:
    struct Binding {
        std::array<NodeId, first_made> data;
        std::vector<ConstantId> inputs; ///< by term
        std::array<NodeId, most_data_ops> made{};
        std::vector<std::pair<TermId, ConstantId>> later; ///< to be compared when all inputs are known
    };

    [[nodiscard]] std::vector<SignClass> signs_of(Rule const& rule) const {
        std::vector out(space_.terms().size(), SignClass::any);
        for (auto const& [term, sign] : rule.signs) out[term] = sign;
        return out;
    }

    [[nodiscard]] NodeId node(Expression one) {
        if (one.y != nothing && one.y < one.x) std::swap(one.x, one.y);
        auto const [at, is_new] = ids_.try_emplace(one, static_cast<NodeId>(nodes_.size()));
        if (is_new) nodes_.push_back(one);
        return at->second;
    }
    [[nodiscard]] Expression const& at(NodeId id) const { return nodes_[static_cast<std::size_t>(id)]; }

    [[nodiscard]] ConstantId constant(Constant one) {
        auto const [at, is_new] =
            constant_ids_.try_emplace(print_of(one.value), static_cast<ConstantId>(constants_.size()));
        if (is_new)
            constants_.push_back(std::move(one));
        else if (one.sign != 0)
            constants_[static_cast<std::size_t>(at->second)].sign = one.sign;
        return at->second;
    }
    [[nodiscard]] Constant const& constant(ConstantId id) const { return constants_[static_cast<std::size_t>(id)]; }

    /// What a term of the rule itself is.
    [[nodiscard]] ConstantId own(TermId id) {
        auto const* value = world_.term(id);
        return value ? constant({*value, own_sign(id)}) : nothing;
    }
    [[nodiscard]] int own_sign(TermId id) const {
        auto const& term = space_.term(id);
        if (term.op == TermOp::number) return term.numerator < 0 ? -1 : term.numerator > 0;
        if (term.op != TermOp::input)
            return folded_sign(term.op, own_sign(term.a), term.b == no_term ? 0 : own_sign(term.b));
        for (auto const& [of, sign] : rule_.signs)
            if (of == id) return sign == SignClass::negative ? -1 : 1;
        return 0;
    }

    [[nodiscard]] NodeId import(Graph const& graph) {
        std::array<NodeId, most_data_ops> made{};
        auto const data = [&](DataRef ref) {
            return ref == no_data     ? nothing
                   : ref < first_made ? NodeId{ref}
                                      : made[static_cast<std::size_t>(ref - first_made)];
        };
        auto const term = [&](TermId id) { return id == no_term ? nothing : own(id); };
        for (std::size_t i = 0; i < graph.count; ++i) {
            auto const& op = graph.ops[i];
            made[i] = node({static_cast<int>(op.code), data(op.x), data(op.y), term(op.p), term(op.q)});
        }
        return made[graph.count - 1u];
    }

    /// True: the other side has been there.
    [[nodiscard]] bool reach(NodeId root, std::size_t side) {
        if (reached_[1 - side].contains(root)) return true;
        if (reached_[side].insert(root).second) open_.emplace_back(root, side);
        return false;
    }

    [[nodiscard]] bool spread() {
        while (!open_.empty()) {
            auto const [root, side] = open_.front();
            open_.pop_front();
            for (auto const id : operators_below(root)) {
                for (auto const& pattern : kept_.by_root_[static_cast<std::size_t>(at(id).code)]) {
                    auto const made = rewritten(id, pattern);
                    if (made == nothing || made == id) continue;
                    std::map<NodeId, NodeId> changed{{id, made}};
                    auto const next = replaced(root, changed);
                    if (std::cmp_greater(operators_below(next).size(), most_ops_)) continue;
                    if (reach(next, side)) return true;
                }
            }
            if (reached_[0].size() + reached_[1].size() > most_graphs) return false;
        }
        return false;
    }

    [[nodiscard]] std::set<NodeId> operators_below(NodeId root) const {
        std::set<NodeId> out;
        std::vector<NodeId> open{root};
        while (!open.empty()) {
            auto const id = open.back();
            open.pop_back();
            if (id == nothing || at(id).code < 0 || !out.insert(id).second) continue;
            open.push_back(at(id).x);
            open.push_back(at(id).y);
        }
        return out;
    }

    [[nodiscard]] NodeId replaced(NodeId id, std::map<NodeId, NodeId>& changed) {
        if (id == nothing || at(id).code < 0) return id;
        if (auto const known = changed.find(id); known != changed.end()) return known->second;
        auto one = at(id);
        one.x = replaced(one.x, changed);
        one.y = replaced(one.y, changed);
        return changed[id] = node(one);
    }

    /// What the pattern makes of an operator; nothing: it does not fit.
    [[nodiscard]] NodeId rewritten(NodeId id, Kept::Pattern const& pattern) {
        Binding binding;
        binding.data.fill(nothing);
        binding.made.fill(nothing);
        binding.inputs.assign(space_.inputs().size(), nothing);
        if (!matches(pattern, pattern.from.count - 1, id, binding)) return nothing;
        for (auto const& [term, found] : binding.later)
            if (folded(term, binding) != found) return nothing;
        for (auto const& [term, sign] : pattern.signs) {
            auto const bound = binding.inputs[term];
            if (bound == nothing || constant(bound).sign != (sign == SignClass::negative ? -1 : 1)) return nothing;
        }
        return build(pattern.to, binding);
    }

    [[nodiscard]] bool matches(Kept::Pattern const& pattern, int op, NodeId id, Binding& binding) {
        auto& made = binding.made[static_cast<std::size_t>(op)];
        if (made != nothing) return made == id;
        auto const& from = pattern.from.ops[static_cast<std::size_t>(op)];
        auto const one = at(id);
        if (one.code != static_cast<int>(from.code) || (from.y == no_data) != (one.y == nothing)) return false;
        if (!takes(pattern, from.p, one.p, binding) || !takes(pattern, from.q, one.q, binding)) return false;
        made = id;
        auto const before = binding;
        if (reads(pattern, from.x, one.x, binding) && reads(pattern, from.y, one.y, binding)) return true;
        binding = before;
        if (from.y != no_data && reads(pattern, from.x, one.y, binding) && reads(pattern, from.y, one.x, binding))
            return true;
        binding = before;
        return false;
    }
    [[nodiscard]] bool reads(Kept::Pattern const& pattern, DataRef ref, NodeId id, Binding& binding) {
        if (ref == no_data) return true;
        if (ref >= first_made) return at(id).code >= 0 && matches(pattern, ref - first_made, id, binding);
        auto& bound = binding.data[ref];
        if (bound == nothing) bound = id;
        return bound == id;
    }
    [[nodiscard]] bool takes(Kept::Pattern const& pattern, TermId term, ConstantId id, Binding& binding) {
        if (term == no_term || id == nothing) return term == no_term && id == nothing;
        auto const& wanted = space_.term(term);
        if (wanted.op == TermOp::number) return own(term) == id;
        if (wanted.op != TermOp::input) {
            binding.later.emplace_back(term, id);
            return true;
        }
        if (!may_stand_for(constant(id).value.type, wanted.type, pattern.has_conv)) return false;
        auto& bound = binding.inputs[term];
        if (bound == nothing) bound = id;
        return bound == id;
    }
    /// A number is one for every channel, and where nothing is convolved all channels are alike.
    [[nodiscard]] static bool may_stand_for(Type is, Type wanted, bool has_conv) {
        auto const is_channel = [](Type type) { return type == Type::channel || type == Type::out_channel; };
        if (is == wanted) return true;
        if (is == Type::scalar) return is_channel(wanted);
        return !has_conv && is_channel(is) && is_channel(wanted);
    }

    /// What a term of a pattern is; nothing: some input is not known.
    [[nodiscard]] ConstantId folded(TermId id, Binding const& binding) {
        auto const& term = space_.term(id);
        if (term.op == TermOp::input) return binding.inputs[id];
        if (term.op == TermOp::number) return own(id);
        auto const a = folded(term.a, binding), b = term.b == no_term ? nothing : folded(term.b, binding);
        if (a == nothing || (term.b != no_term && b == nothing)) return nothing;
        auto value = fold(term.op, constant(a).value, b == nothing ? nullptr : &constant(b).value, small_sizes);
        if (!value) return nothing;
        return constant(
            {std::move(*value), folded_sign(term.op, constant(a).sign, b == nothing ? 0 : constant(b).sign)});
    }

    [[nodiscard]] NodeId build(Graph const& graph, Binding const& binding) {
        std::array<NodeId, most_data_ops> made{};
        auto is_whole = true;
        auto const data = [&](DataRef ref) {
            if (ref == no_data) return nothing;
            auto const id = ref < first_made ? binding.data[ref] : made[static_cast<std::size_t>(ref - first_made)];
            is_whole = is_whole && id != nothing;
            return id;
        };
        auto const term = [&](TermId id) {
            auto const found = id == no_term ? nothing : folded(id, binding);
            is_whole = is_whole && (id == no_term || found != nothing);
            return found;
        };
        for (std::size_t i = 0; i < graph.count; ++i) {
            auto const& op = graph.ops[i];
            Expression const one{static_cast<int>(op.code), data(op.x), data(op.y), term(op.p), term(op.q)};
            if (!is_whole) return nothing;
            made[i] = node(one);
        }
        return made[graph.count - 1u];
    }

    Kept const& kept_;
    Space const& space_;
    World world_;
    Rule const& rule_;
    int most_ops_;
    std::map<Expression, NodeId> ids_;
    std::deque<Expression> nodes_;
    std::map<std::uint64_t, ConstantId> constant_ids_;
    std::deque<Constant> constants_;
    std::array<std::set<NodeId>, 2> reached_;
    std::deque<std::pair<NodeId, std::size_t>> open_;
};

bool Kept::imply(Rule const& rule) const { return Closure(*this, rule).joins(); }

void Kept::add(Rule const& rule) {
    auto const put = [&](Graph const& from, Graph const& to) {
        auto const is_conv = [](GraphOp const& op) { return op.code == Op::conv || op.code == Op::conv_bias; };
        auto const has_conv = std::ranges::any_of(from.used(), is_conv) || std::ranges::any_of(to.used(), is_conv);
        auto const root = static_cast<std::size_t>(from.ops[from.count - 1u].code);
        by_root_[root].push_back({from, to, rule.signs, has_conv});
    };
    put(rule.left, rule.right);
    put(rule.right, rule.left);
}

void sort_by_size(std::vector<Rule>& rules, Space const& space) {
    auto const is_number = [&](TermId id) { return space.term(id).type == Type::scalar; };
    auto const order = [&](Rule const& rule) {
        auto const read = parameters_of(rule.left, rule.right, space);
        return std::tuple(rule.left.count + rule.right.count, rule.left.term_ops(space) + rule.right.term_ops(space),
                          rule.signs.size(), -std::ssize(read), std::ranges::count_if(read, is_number), rule.left,
                          rule.right);
    };
    std::ranges::sort(rules, {}, order);
}

std::vector<bool> without_implied(std::vector<Rule> const& rules, Space const& space, base::StopToken const& stop) {
    Kept kept(space);
    std::vector<bool> out;
    for (auto const& rule : rules) {
        stop.check();
        out.push_back(!kept.imply(rule));
        if (out.back() && rule.is_proved) kept.add(rule);
    }
    return out;
}

} // namespace espalier::problems::substitution::affine
