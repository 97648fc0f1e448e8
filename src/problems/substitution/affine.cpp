#include "affine.hpp"

#include "affine_extensions.hpp"
#include "affine_implied.hpp"
#include "affine_proof.hpp"
#include "counters.hpp"

#include "espalier/base/hash.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>

namespace espalier::problems::substitution::affine {
namespace {

/// Why nodes do not become rules.
enum class Dropped : std::uint16_t { largest, two_ends, no_meaning, known_tensor, other_values, implied };
constexpr std::array<std::string_view, 6> dropped_names{
    "as many operators as allowed",   "more outputs than can be joined", "an operator without a meaning",
    "a tensor that is there already", "equal for some values only",      "implied by smaller rules"};
search::Assessment drop(Dropped why) { return search::prune_it(base::ReasonId{static_cast<std::uint16_t>(why)}); }

/// Of what stage 1 emits: all rules meet in one place.
constexpr std::uint64_t rules_key = 0;
constexpr Sizes first_shapes{};
constexpr std::uint64_t main_worlds = 12; ///< so that a parameter is above and below every number in some

std::vector<SignClass> all_positive(Space const& space) {
    return std::vector(space.terms().size(), SignClass::positive);
}

/// What a graph is in the main world, by the names that give its output the least value.
struct Seen {
    bool has_meaning = false;
    bool repeats = true;       ///< a tensor inside is another one of the graph, or constant
    bool ends_in_known = true; ///< the output is
    std::uint64_t key = 0;
    Graph named;
};

/// The same value all over a channel.
bool is_constant(Tensor const& tensor, std::size_t width) {
    for (std::size_t i = 0; i < tensor.values.size(); ++i)
        if (tensor.values[i].residue != tensor.values[i / width * width].residue) return false;
    return true;
}

/// How many of the graph's tensors are new until the first that is not: an input, an earlier one, or constant.
std::size_t new_tensors(std::vector<Tensor> const& made, World const& world, Space const& space) {
    std::set<std::uint64_t> seen;
    for (int i = 0; i < space.data_inputs(); ++i) seen.insert(print_of(world.data(static_cast<std::size_t>(i))));
    std::size_t out = 0;
    for (auto const& tensor : made) {
        if (is_constant(tensor, static_cast<std::size_t>(world.sizes().width))) break;
        if (!seen.insert(print_of(tensor)).second) break;
        ++out;
    }
    return out;
}

bool is_among_inputs(Tensor const& tensor, World const& world, Space const& space) {
    for (int i = 0; i < space.data_inputs(); ++i)
        if (print_of(world.data(static_cast<std::size_t>(i))) == print_of(tensor)) return true;
    return false;
}

Seen look_at(Graph const& graph, World const& world, Space const& space) {
    Seen out;
    for (auto const& naming : space.namings()) {
        auto const named = renamed(graph, naming);
        auto const made = evaluate(named, world);
        if (!made) continue;
        auto const fresh = new_tensors(*made, world, space);
        if (fresh + 1 < made->size()) {
            out.has_meaning = true;
            continue;
        }
        auto const& last = made->back();
        auto const is_known = fresh < made->size();
        auto const key = print_of(last);
        auto const is_trivial = is_known && (is_among_inputs(last, world, space) ||
                                             is_constant(last, static_cast<std::size_t>(world.sizes().width)));
        auto const is_first = out.repeats;
        out.has_meaning = true;
        if (is_trivial) continue;
        if (is_first || key < out.key) {
            out.key = key;
            out.named = named;
        }
        out.repeats = false;
        out.ends_in_known = out.ends_in_known && is_known;
    }
    return out;
}

} // namespace

Affine::Workspace::Workspace(search::Notes& of_thread, Space const& space, std::uint64_t seed)
    : notes(&of_thread), conditions(space, ~seed) {
    for (std::uint64_t i = 0; i < main_worlds; ++i)
        main.emplace_back(space, first_shapes, seed + i, all_positive(space));
}

Affine::Affine(SubstitutionConfig const& config, std::uint64_t seed, bool proves)
    : space_(std::make_shared<Space const>(config.affine, config.max_ops)), config_(config), seed_(seed),
      proves_(proves) {}

search::ProblemInfo Affine::info() const {
    search::ProblemInfo info{.kind = "substitution", .reasons = {}, .counters = {}, .stages = 3};
    for (auto const name : dropped_names) info.reasons.emplace_back(name);
    auto const used = counter(Count::graphs) + static_cast<std::size_t>(config_.max_ops);
    for (auto const name : std::span(counter_names).first(used))
        info.counters.push_back({std::string(name), search::CounterKind::sum});
    info.stage_names = {"all graphs", "graphs with equal keys", "rules"};
    return info;
}

std::int32_t Affine::depth(Node const& node) const {
    if (node.kind == NodeKind::graph) return node.graph.count;
    return node.kind == NodeKind::pair ? 1 : 0;
}

/// Operators on data that may still be added.
int Affine::ops_left(Graph const& graph) const {
    return std::min(config_.affine.data_ops - graph.count, config_.max_ops - graph.count - graph.term_ops(*space_));
}

search::Assessment Affine::assess(Node const& node, Workspace& workspace) const {
    if (node.kind == NodeKind::group) return search::expand_it();
    if (node.kind == NodeKind::rule) return search::is_candidate();
    if (node.kind == NodeKind::implied) return drop(Dropped::implied);
    if (node.kind == NodeKind::graph) return assess_graph(node.graph, workspace);
    return workspace.conditions.find(node.graph, node.other) ? search::expand_it() : drop(Dropped::other_values);
}

search::Assessment Affine::assess_graph(Graph const& graph, Workspace& workspace) const {
    if (graph.count == 0) return search::expand_it();
    auto const left = ops_left(graph);
    if (graph.outputs() - 1 > left) return drop(Dropped::two_ends);
    Seen seen;
    for (auto const& world : workspace.main) {
        if (auto const here = look_at(graph, world, *space_); here.has_meaning) seen = here;
        if (seen.has_meaning && !seen.repeats) break;
    }
    if (!seen.has_meaning) return drop(Dropped::no_meaning);
    if (seen.repeats) return drop(Dropped::known_tensor);
    if (graph.outputs() == 1) {
        auto& notes = *workspace.notes;
        notes.add(counter(Count::graphs) + graph.count - 1u);
        notes.add(counter(Count::connected));
        notes.add(counter(Count::one_output));
        base::Bytes bytes;
        base::ByteWriter writer(bytes);
        affine::pack(seen.named, writer);
        notes.emit(seen.key, std::move(bytes));
    }
    if (seen.ends_in_known) return drop(Dropped::known_tensor);
    return left == 0 ? drop(Dropped::largest) : search::expand_it();
}

void Affine::expand(Node const& node, Workspace& workspace, search::Children<Node>& children) const {
    auto const parent = node; // the stack that holds it may move
    if (parent.kind == NodeKind::graph) return expand_graph(parent.graph, children);
    if (parent.kind == NodeKind::pair) return expand_pair(parent, workspace);
    expand_group(parent.graphs, workspace, children);
}

void Affine::expand_graph(Graph const& graph, search::Children<Node>& children) const {
    for_each_extension(graph, *space_, {config_.max_ops, config_.affine.data_ops}, [&](Graph const& child) {
        if (is_canonical(child, *space_)) children.push(Node{.kind = NodeKind::graph, .graph = child});
    });
}

std::vector<Affine::Node> Affine::next_stage(int stage, std::vector<search::EmitGroup> const& groups,
                                             base::StopToken stop) const {
    return stage == 0 ? groups_of_graphs(groups, stop) : rules_of(groups, stop);
}

std::vector<Affine::Node> Affine::groups_of_graphs(std::vector<search::EmitGroup> const& groups,
                                                   base::StopToken const& stop) const {
    std::vector<Node> out;
    for (auto const& group : groups) {
        stop.check();
        if (group.values.size() < 2) continue;
        Node node{.kind = NodeKind::group};
        for (auto const& value : group.values) {
            base::ByteReader reader(value);
            node.graphs.push_back(unpack_graph(reader, *space_));
        }
        out.push_back(std::move(node));
    }
    return out;
}

void Affine::expand_group(std::vector<Graph> const& graphs, Workspace& workspace,
                          search::Children<Node>& children) const {
    auto const& space = *space_;
    auto const is_small = [&](Graph const& graph) { return graph.count <= config_.affine.to_ops; };
    if (std::ranges::none_of(graphs, is_small)) return;
    using Ranked = std::pair<std::tuple<int, int, Graph>, Graph>;
    std::map<std::vector<std::optional<std::uint64_t>>, std::vector<Ranked>> equals;
    for (auto const& graph : graphs)
        equals[workspace.conditions.signature(graph)].emplace_back(rank(graph, space), graph);
    workspace.notes->add(counter(Count::groups));
    auto const pair = [&](Graph const& larger, Graph const& smaller) {
        if (!is_small(smaller)) return;
        workspace.notes->add(counter(Count::pairs));
        children.push(Node{.kind = NodeKind::pair, .graph = larger, .other = smaller});
    };
    std::vector<Ranked> smallest;
    for (auto& [signature, same] : equals) {
        std::ranges::sort(same);
        smallest.push_back(same.front());
        for (std::size_t i = 1; i < same.size(); ++i) pair(same[i].second, same.front().second);
    }
    std::ranges::sort(smallest);
    for (std::size_t i = 1; i < smallest.size(); ++i) pair(smallest[i].second, smallest.front().second);
}

void Affine::expand_pair(Node const& node, Workspace& workspace) const {
    Rule rule{node.graph, node.other, {}, false};
    auto const positive = workspace.conditions.find(node.graph, node.other);
    for (auto const term : positive.value()) rule.signs.emplace_back(term, SignClass::positive);
    rule = canonical(rule, *space_);
    auto const read = parameters_of(rule.left, rule.right, *space_);
    std::erase_if(rule.signs, [&](auto const& one) { return std::ranges::find(read, one.first) == read.end(); });
    rule.is_proved = proves_ && prove(plain(rule, *space_));
    if (!rule.is_proved && !workspace.conditions.holds_often(node.graph, node.other, *positive)) return;
    base::Bytes bytes;
    base::ByteWriter writer(bytes);
    affine::pack(rule, writer);
    workspace.notes->emit(rules_key, std::move(bytes));
}

std::vector<Affine::Node> Affine::rules_of(std::vector<search::EmitGroup> const& groups,
                                           base::StopToken const& stop) const {
    std::vector<Rule> rules;
    for (auto const& group : groups)
        for (auto const& value : group.values) {
            base::ByteReader reader(value);
            rules.push_back(unpack_rule(reader, *space_));
        }
    sort_by_size(rules, *space_);
    auto const kept = without_implied(rules, *space_, stop);
    std::vector<Node> out;
    for (std::size_t i = 0; i < rules.size(); ++i)
        out.push_back(Node{.kind = kept[i] ? NodeKind::rule : NodeKind::implied, .rule = rules[i]});
    return out;
}

/// Everything has been tried before.
std::vector<search::VerifyOutcome<Rule>> Affine::verify(std::span<Node const> nodes, Workspace&) const {
    std::vector<search::VerifyOutcome<Rule>> out;
    for (auto const& node : nodes) out.push_back({.result = node.rule, .reason = {}});
    return out;
}

search::ResultRecord Affine::record(Rule const& rule) const {
    auto const told = plain(rule, *space_);
    search::ResultRecord record{.error_bound = rule.is_proved ? 0.0 : 1.0,
                                .verification = told.verified,
                                .text = to_text(told.left) + "\n" + to_text(told.right) + "\n",
                                .payload = {}};
    std::from_chars(told.key.data(), told.key.data() + told.key.size(), record.key, 16);
    base::ByteWriter writer(record.payload);
    writer.put_text(to_json(told).dump());
    return record;
}

void Affine::pack(Node const& node, base::Bytes& out) const {
    base::ByteWriter writer(out);
    writer.put(node.kind);
    if (node.kind == NodeKind::rule || node.kind == NodeKind::implied) return affine::pack(node.rule, writer);
    if (node.kind == NodeKind::group) {
        writer.put(static_cast<std::uint32_t>(node.graphs.size()));
        for (auto const& graph : node.graphs) affine::pack(graph, writer);
        return;
    }
    affine::pack(node.graph, writer);
    if (node.kind == NodeKind::pair) affine::pack(node.other, writer);
}

Affine::Node Affine::unpack(std::span<std::byte const> bytes) const {
    base::ByteReader reader(bytes);
    Node node;
    node.kind = reader.get<NodeKind>();
    if (node.kind > NodeKind::implied) throw base::SystemError("a packed node of a substitution search is not a node");
    if (node.kind == NodeKind::group) {
        for (auto count = reader.get<std::uint32_t>(); count > 0; --count)
            node.graphs.push_back(unpack_graph(reader, *space_));
    } else if (node.kind == NodeKind::rule || node.kind == NodeKind::implied) {
        node.rule = unpack_rule(reader, *space_);
    } else {
        node.graph = unpack_graph(reader, *space_);
        if (node.kind == NodeKind::pair) node.other = unpack_graph(reader, *space_);
    }
    return node;
}

} // namespace espalier::problems::substitution::affine
