#include "espalier/problems/placement/placement.hpp"

#include "records.hpp"
#include "state_graph.hpp"

#include "espalier/base/bytes.hpp"

#include <map>

namespace espalier::problems::placement {

namespace {

constexpr base::ReasonId too_long{0}, out_of_reach{1}, wrong_sums{2};
constexpr std::array reason_names{"too long", "out of reach", "wrong sums"};
constexpr std::size_t first_refusal = 0;

} // namespace

struct Placement::Shared {
    PlacementConfig config;
    std::uint64_t seed;
    std::vector<Pair> pairs;
    bool is_bounded = false;
};

/// Graphs are shared by all pairs with as many levels and the same request.
struct Placement::Workspace::Impl {
    search::Notes* notes = nullptr;
    reduction::BroadcastRule rule{};
    std::map<std::pair<int, reduction::Request>, StateGraph> graphs;

    StateGraph& graph(Pair const& pair) {
        return graphs.try_emplace({pair.levels(), pair.request}, pair.levels(), pair.request, rule).first->second;
    }
    StateGraph::Id replay(StateGraph& graph, Node const& node) {
        auto state = graph.start();
        for (std::size_t i = 0; i < node.count; ++i) state = graph.after(state, node.steps[i]);
        return state;
    }
    reduction::Program program(StateGraph const& graph, Node const& node) const {
        reduction::Program program;
        for (std::size_t i = 0; i < node.count; ++i) program.push_back(graph.step(node.steps[i]));
        return program;
    }
};

Placement::Workspace::Workspace(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Placement::Workspace::Workspace(Workspace&&) noexcept = default;
Placement::Workspace& Placement::Workspace::operator=(Workspace&&) noexcept = default;
Placement::Workspace::~Workspace() = default;

Placement::Placement(PlacementConfig const& config, std::uint64_t seed)
    : shared_(std::make_shared<Shared>(Shared{config, seed, pairs_of(config)})) {}

CheapestPlacement::CheapestPlacement(PlacementConfig const& config, std::uint64_t seed) : Placement(config, seed) {
    shared_->is_bounded = true;
}

search::ProblemInfo Placement::info() const {
    search::ProblemInfo info;
    info.kind = problem_section().name();
    info.reasons.assign(reason_names.begin(), reason_names.end());
    for (auto const name : reduction::refusal_names)
        info.counters.push_back({std::string(name), search::CounterKind::sum});
    return info;
}

std::vector<Node> Placement::roots() const {
    std::vector<Node> roots;
    for (std::size_t pair = 0; pair < shared_->pairs.size(); ++pair)
        roots.push_back({.pair = static_cast<std::uint32_t>(pair)});
    return roots;
}

Placement::Workspace Placement::make_workspace(search::Notes& notes) const {
    auto impl = std::make_unique<Workspace::Impl>();
    impl->notes = &notes;
    impl->rule = shared_->config.broadcast;
    return Workspace(std::move(impl));
}

search::Assessment Placement::assess(Node const& node, Workspace& workspace) const {
    auto& graph = workspace->graph(shared_->pairs[node.pair]);
    auto const state = workspace->replay(graph, node);
    if (graph.is_done(state)) return search::is_candidate();
    auto const left = shared_->config.max_steps - node.count;
    if (left == 0) return search::prune_it(too_long);
    return graph.can_reach(state, left) ? search::expand_it() : search::prune_it(out_of_reach);
}

void Placement::expand(Node const& node, Workspace& workspace, search::Children<Node>& children) const {
    auto const& pair = shared_->pairs[node.pair];
    auto& graph = workspace->graph(pair);
    auto const state = workspace->replay(graph, node);
    auto const& refusals = graph.refusals(state);
    for (std::size_t i = 0; i < refusals.size(); ++i) workspace->notes->add(first_refusal + i, refusals[i]);
    for (auto const& transition : graph.transitions(state)) {
        workspace->notes->stop().check();
        auto child = node;
        child.steps[child.count++] = transition.step;
        if (shared_->is_bounded) {
            auto const lowered = pair.lower(workspace->program(graph, child));
            auto const us = pair.predict(lowered, shared_->config.segments).us;
            child.bound_us = static_cast<float>(0.999999 * us); // rounding must not lift it above a cost
        }
        children.push(child);
    }
}

void Placement::pack(Node const& node, base::Bytes& out) const {
    base::ByteWriter writer(out);
    writer.put(node.pair);
    writer.put(node.count);
    for (std::size_t i = 0; i < node.count; ++i) writer.put(node.steps[i]);
    writer.put(node.bound_us);
}

Node Placement::unpack(std::span<std::byte const> bytes) const {
    base::ByteReader reader(bytes);
    Node node;
    node.pair = reader.get<std::uint32_t>();
    node.count = reader.get<std::uint8_t>();
    if (node.pair >= shared_->pairs.size() || node.count > Node::max_steps)
        throw base::SystemError("packed data is not a node of a placement search");
    for (std::size_t i = 0; i < node.count; ++i) node.steps[i] = reader.get<std::uint8_t>();
    node.bound_us = reader.get<float>();
    if (reader.left() > 0) throw base::SystemError("packed data is longer than its node");
    return node;
}

std::vector<search::VerifyOutcome<Result>> Placement::verify(std::span<Node const> nodes, Workspace& workspace) const {
    std::vector<search::VerifyOutcome<Result>> outcomes;
    for (auto const& node : nodes) {
        workspace->notes->stop().check();
        auto const& pair = shared_->pairs[node.pair];
        auto const program = workspace->program(workspace->graph(pair), node);
        auto const lowered = pair.lower(program);
        auto& outcome = outcomes.emplace_back();
        outcome.reason = wrong_sums;
        if (!reduction::sums_are_right(lowered, pair.groups, shared_->seed, pair.request)) continue;
        auto const predicted = pair.predict(lowered, shared_->config.segments);
        outcome.result = Result{node.pair, program, predicted.us, predicted.segments};
    }
    return outcomes;
}

search::ResultRecord Placement::record(Result const& result) const {
    return to_record(shared_->pairs[result.pair], result);
}

} // namespace espalier::problems::placement
