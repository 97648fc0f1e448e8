#include "espalier/problems/substitution/substitution.hpp"

#include "augmentation.hpp"
#include "counters.hpp"
#include "matching.hpp"
#include "proof.hpp"

#include "espalier/base/hash.hpp"
#include "espalier/base/json.hpp"
#include "espalier/field/mersenne.hpp"

#include <algorithm>

namespace espalier::problems::substitution {
namespace {

/// Why nodes do not become rules.
enum class Reason : std::uint16_t { largest, other_outputs, common_part, common_end, other_sizes };
constexpr std::array<std::string_view, 5> reason_names{"as many operators as allowed", "more outputs than wanted",
                                                       "a part in common", "the last operator in common",
                                                       "equal for one choice of sizes only"};
search::Assessment prune(Reason reason) { return search::prune_it(base::ReasonId{static_cast<std::uint16_t>(reason)}); }

constexpr Sizes first_sizes{};
constexpr Sizes second_sizes = other_sizes(3, 6, 4, 7);

/// Of a sum of products that is not the same on both sides: each operator at most squares the degree of what it reads,
/// those with a relu twice. There is no bound where a maximum is taken.
double error_bound(OperatorGraph const& graph) {
    double degree = 1;
    for (auto const& op : graph.used()) {
        if (op.code == Operator::max_pool) return 1;
        degree *= 4;
    }
    return degree / static_cast<double>(field::Mersenne61::prime);
}

/// The graphs that have one operator more than another one.
class Extensions {
public:
    Extensions(OperatorGraph const& graph, TensorTable& table) : parent_(graph), table_(table) {
        auto const tensors = evaluate(graph, table).value();
        auto const used = graph.inputs_used();
        for (int slot = 0; slot < input_slots().count(); ++slot) {
            auto const id = table.input(slot);
            present_.push_back(id);
            auto const next =
                input_slots().number_of(slot) - used[static_cast<std::size_t>(input_slots().class_of(slot))];
            if (next < 2) add(static_cast<Ref>(slot), id, next);
        }
        for (std::size_t i = 0; i < tensors.size(); ++i) {
            if (tensors[i] == no_tensor) continue;
            present_.push_back(tensors[i]);
            add(static_cast<Ref>(first_result + i), tensors[i], -1);
        }
    }

    template <class Take>
    void for_each(Take const& take) {
        for (auto const& row : operators()) {
            if (row.operands == 0) try_op({row.code, no_ref, no_ref}, no_tensor, no_tensor, take);
            if (row.operands == 0) continue;
            for (auto const& a : operands_)
                if (a.fits(row.rank_a) && a.new_number < 1) with_first(row, a, take);
        }
    }

private:
    struct Operand {
        Ref ref = no_ref;
        TensorId id = no_tensor;
        int rank = 0;
        int new_number = -1; ///< of an input that is not used yet, in its class: 0 is the next one
        int which = -1;

        [[nodiscard]] bool fits(int wanted) const { return wanted == any_rank || wanted == rank; }
    };
    void add(Ref ref, TensorId id, int new_number) {
        operands_.push_back({ref, id, table_.layout(id).rank, std::max(new_number, -1),
                             is_result(ref) ? -1 : input_slots().class_of(ref)});
    }
    template <class Take>
    void with_first(OperatorInfo const& row, Operand const& a, Take const& take) {
        if (row.operands == 1) return try_op({row.code, a.ref, no_ref}, a.id, no_tensor, take);
        for (auto const& b : operands_) {
            auto const is_after_a = b.new_number == 1 && a.new_number == 0 && a.which == b.which;
            if (!b.fits(row.rank_b) || (b.new_number == 1 && !is_after_a)) continue;
            if (row.is_commutative && a.ref > b.ref) continue;
            try_op({row.code, a.ref, b.ref}, a.id, b.id, take);
        }
    }
    template <class Take>
    void try_op(GraphOp const& op, TensorId a, TensorId b, Take const& take) {
        if (!parent_.may_accept(op)) return;
        auto const made = table_.made(op.code, a, b);
        if (!made.is_there() || made.first == made.second || is_present(made.first) || is_present(made.second)) return;
        if (!parent_.accepts(op)) return;
        auto child = parent_.graph();
        child.push(op);
        take(child);
    }
    [[nodiscard]] bool is_present(TensorId id) const {
        return id != no_tensor && std::ranges::find(present_, id) != present_.end();
    }

    Parent parent_;
    TensorTable& table_;
    std::vector<Operand> operands_;
    std::vector<TensorId> present_;
};

} // namespace

struct Substitution::Workspace::Impl {
    Impl(search::Notes& notes_of_thread, std::uint64_t seed)
        : notes(&notes_of_thread), table(first_sizes, seed), second(second_sizes, ~seed) {}

    search::Notes* notes;
    TensorTable table;
    TensorTable second; ///< for what is verified
};

Substitution::Workspace::Workspace(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Substitution::Workspace::Workspace(Workspace&&) noexcept = default;
Substitution::Workspace::~Workspace() = default;

Substitution::Workspace Substitution::make_workspace(search::Notes& notes) const {
    return Workspace(std::make_unique<Workspace::Impl>(notes, seed_));
}

search::ProblemInfo Substitution::info() const {
    search::ProblemInfo info{.kind = "substitution", .reasons = {}, .counters = {}, .stages = 2};
    for (auto const name : reason_names) info.reasons.emplace_back(name);
    auto const used = counter(Count::graphs) + static_cast<std::size_t>(config_.max_ops);
    for (auto const name : std::span(counter_names).first(used))
        info.counters.push_back({std::string(name), search::CounterKind::sum});
    info.stage_names = {"all graphs", "graphs with equal keys"};
    return info;
}

/// Every operator to come reads at most two results.
bool Substitution::may_lead_to_wanted(OperatorGraph const& graph) const {
    auto const most = 1 + config_.max_ops - graph.count;
    return config_.outputs == OutputsWanted::any || std::cmp_less_equal(graph.outputs().size(), most);
}

search::Assessment Substitution::assess(Node const& node, Workspace& workspace) const {
    if (node.kind == NodeKind::bucket) return search::expand_it();
    return node.kind == NodeKind::pair ? assess_pair(node, workspace) : assess_graph(node.graph, workspace);
}

search::Assessment Substitution::assess_graph(OperatorGraph const& graph, Workspace& workspace) const {
    if (graph.count == 0) return search::expand_it();
    if (!may_lead_to_wanted(graph)) return prune(Reason::other_outputs);
    auto const has_one_output = graph.outputs().size() == 1;
    if (config_.outputs == OutputsWanted::any || has_one_output) {
        auto& notes = *workspace->notes;
        notes.add(counter(Count::graphs) + graph.count - 1u);
        if (graph.is_connected()) notes.add(counter(Count::connected));
        if (has_one_output) notes.add(counter(Count::one_output));
        auto const [key, named] = keyed(graph, workspace->table);
        base::Bytes bytes;
        base::ByteWriter writer(bytes);
        substitution::pack(named, writer);
        notes.emit(key, std::move(bytes));
    }
    return graph.count == config_.max_ops ? prune(Reason::largest) : search::expand_it();
}

search::Assessment Substitution::assess_pair(Node const& node, Workspace& workspace) const {
    if (have_common_part(node.graph, node.other)) return prune(Reason::common_part);
    if (have_common_end(node.graph, node.other, workspace->table)) return prune(Reason::common_end);
    return search::is_candidate();
}

void Substitution::expand(Node const& node, Workspace& workspace, search::Children<Node>& children) const {
    auto const parent = node; // the stack that holds it may move
    if (parent.kind == NodeKind::bucket) return expand_bucket(parent.bucket, workspace, children);
    expand_graph(parent.graph, workspace, children);
}

void Substitution::expand_graph(OperatorGraph const& graph, Workspace& workspace,
                                search::Children<Node>& children) const {
    Extensions extensions(graph, workspace->table);
    extensions.for_each([&](OperatorGraph const& child) {
        if (config_.order == OperandOrder::taso && !has_order(child)) return;
        children.push(Node{.kind = NodeKind::graph, .graph = child, .other = {}, .bucket = {}});
    });
}

void Substitution::expand_bucket(search::Bucket const& bucket, Workspace& workspace,
                                 search::Children<Node>& children) const {
    for (auto const& group : workspace->notes->join(bucket)) {
        workspace->notes->stop().check();
        if (group.values.size() < 2) continue;
        std::vector<OperatorGraph> graphs;
        for (auto const& value : group.values) {
            base::ByteReader reader(value);
            graphs.push_back(unpack_graph(reader));
        }
        auto const n = graphs.size();
        workspace->notes->add(counter(Count::groups));
        workspace->notes->add(counter(Count::pairs), n * (n - 1) / 2);
        for (std::size_t i = 0; i < n; ++i)
            for (std::size_t j = i + 1; j < n; ++j)
                children.push(Node{.kind = NodeKind::pair, .graph = graphs[i], .other = graphs[j], .bucket = {}});
    }
}

std::vector<search::VerifyOutcome<Rule>> Substitution::verify(std::span<Node const> nodes, Workspace& workspace) const {
    std::vector<search::VerifyOutcome<Rule>> out;
    for (auto const& node : nodes) {
        auto const left = signature(node.graph, workspace->second), right = signature(node.other, workspace->second);
        search::VerifyOutcome<Rule> outcome{.result = {},
                                            .reason = base::ReasonId{static_cast<std::uint16_t>(Reason::other_sizes)}};
        if (left && left == right) {
            auto const [a, b] = canonical_pair(node.graph, node.other);
            Rule rule{a, b, std::max(error_bound(a), error_bound(b)), false, {}};
            if (auto proof = proves_ ? prove(a, b, workspace->table) : Proof{}; proof.holds) {
                rule.is_proved = true;
                rule.condition = std::move(proof.condition);
            }
            outcome.result = std::move(rule);
        }
        out.push_back(std::move(outcome));
    }
    return out;
}

search::ResultRecord Substitution::record(Rule const& rule) const {
    auto text = to_text(rule.left) + "\n" + to_text(rule.right) + "\n";
    search::ResultRecord record{.key = base::hash_text(text),
                                .error_bound = rule.is_proved ? 0 : rule.error_bound,
                                .verification =
                                    rule.is_proved ? search::Verification::proved : search::Verification::random,
                                .text = std::move(text),
                                .payload = {}};
    base::ByteWriter writer(record.payload);
    substitution::pack(rule.left, writer);
    substitution::pack(rule.right, writer);
    writer.put_text(rule.condition);
    return record;
}

void Substitution::pack(Node const& node, base::Bytes& out) const {
    base::ByteWriter writer(out);
    writer.put(node.kind);
    if (node.kind == NodeKind::bucket) return node.bucket.pack(writer);
    substitution::pack(node.graph, writer);
    if (node.kind == NodeKind::pair) substitution::pack(node.other, writer);
}

Substitution::Node Substitution::unpack(std::span<std::byte const> bytes) const {
    base::ByteReader reader(bytes);
    Node node{.kind = reader.get<NodeKind>(), .graph = {}, .other = {}, .bucket = {}};
    if (node.kind > NodeKind::pair) throw base::SystemError("a packed node of a substitution search is not a node");
    if (node.kind == NodeKind::bucket) {
        node.bucket = search::Bucket::unpack(reader);
        return node;
    }
    node.graph = unpack_graph(reader);
    if (node.kind == NodeKind::pair) node.other = unpack_graph(reader);
    return node;
}

} // namespace espalier::problems::substitution
