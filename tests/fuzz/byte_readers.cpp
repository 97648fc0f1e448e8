#include "fuzz/readers.hpp"

#include "espalier/base/error.hpp"
#include "espalier/cluster/messages.hpp"
#include "espalier/problems/mugraph/node.hpp"
#include "espalier/problems/mutation/mutation.hpp"
#include "espalier/problems/placement/placement.hpp"
#include "espalier/problems/problems.hpp"
#include "espalier/problems/substitution/substitution.hpp"
#include "espalier/problems/uts/uts.hpp"

namespace espalier::fuzz {
namespace {

namespace mugraph = problems::mugraph;

std::span<std::byte const> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }
std::string text_of(base::Bytes const& bytes) { return {reinterpret_cast<char const*>(bytes.data()), bytes.size()}; }

/// Nothing if the bytes are refused.
template <class Read>
void read_or_refuse(Read read) {
    try {
        read();
    } catch (base::SystemError const& error) {
        expect(!std::string_view(error.what()).empty(), "a refusal says something");
    }
}

/// Compared as bytes: a number that is none is not equal to itself.
void read_message(std::string_view input) {
    read_or_refuse([&] {
        auto const bytes = cluster::encode(cluster::decode(bytes_of(input)));
        expect(cluster::encode(cluster::decode(bytes)) == bytes, "a message that is sent on stays the same");
    });
}

template <class Pack, class Unpack>
void read_node(std::string_view input, Pack pack, Unpack unpack) {
    read_or_refuse([&] {
        base::Bytes once, again;
        pack(unpack(bytes_of(input)), once);
        pack(unpack(std::span<std::byte const>(once)), again);
        expect(once == again, "a node that is sent on stays the same");
    });
}

void read_mugraph(std::string_view input) {
    read_node(
        input, [](auto const& node, base::Bytes& out) { mugraph::pack(node, out); },
        [](auto bytes) { return mugraph::unpack(bytes); });
}

template <class Problem>
void read_node_of(Problem const& problem, std::string_view input) {
    read_node(
        input, [&](auto const& node, base::Bytes& out) { problem.pack(node, out); },
        [&](auto bytes) { return problem.unpack(bytes); });
}

problems::uts::Uts const& tree() {
    static problems::uts::Uts const uts{problems::uts::UtsConfig{}};
    return uts;
}
template <class Config>
Config config_of(std::string const& problem) {
    auto const run = problems::experiments().parse("problem: " + problem + "\nresults: {path: x}\n", "fuzz.yaml");
    return run.problem.as<Config>();
}
problems::placement::Placement const& placement() {
    static problems::placement::Placement const problem(
        config_of<problems::placement::PlacementConfig>("{kind: placement, hierarchy: [{name: node, size: 4}], axes: "
                                                        "{data: 4}, reductions: [{axes: [data]}]}"),
        1);
    return problem;
}
problems::substitution::Substitution const& substitution() {
    static problems::substitution::Substitution const problem({}, 1);
    return problem;
}
problems::mutation::Mutation const& mutation() {
    static problems::mutation::Mutation const problem(config_of<problems::mutation::MutationConfig>(
        "{kind: mutation, program: {inputs: {X: [2, 4], W: [4, 2]}, ops: [{out: Y, op: matmul, in: [X, W]}], "
        "outputs: [Y]}}"));
    return problem;
}

void read_uts(std::string_view input) { read_node_of(tree(), input); }
void read_placement(std::string_view input) { read_node_of(placement(), input); }
void read_substitution(std::string_view input) { read_node_of(substitution(), input); }
void read_mutation(std::string_view input) { read_node_of(mutation(), input); }

std::vector<std::string> messages() {
    search::PackedNode const node{.bytes = base::Bytes(24), .depth = 3, .origin = 7};
    cluster::Commit commit;
    commit.error = "why";
    std::vector<cluster::Body> const bodies{cluster::Hello{.threads = 2, .host = "a"},
                                            cluster::Welcome{.epoch = 1},
                                            cluster::Batch{.number = 1, .roots = {node, node}},
                                            cluster::Order{.kind = cluster::OrderKind::give, .amount = 3},
                                            cluster::Pulse{.nodes = 5},
                                            commit,
                                            cluster::Farewell{.cpu_seconds = 1}};
    std::vector<std::string> texts;
    for (auto const& body : bodies) texts.push_back(text_of(cluster::encode({{}, body})));
    return texts;
}

std::vector<std::string> mugraph_nodes() {
    std::vector<std::string> texts;
    mugraph::Node node;
    for (int steps = 0; steps < 4; ++steps) {
        base::Bytes bytes;
        mugraph::pack(node, bytes);
        texts.push_back(text_of(bytes));
        node.push({.kind = mugraph::Step::Kind::kernel_op, .count = 2});
        node.begins = static_cast<std::uint8_t>(steps % 2);
        node.is_sized = steps == 2;
    }
    return texts;
}

/// The roots, and what the first nodes expand to.
template <class Problem>
std::vector<std::string> nodes_of(Problem const& problem) {
    search::Notes notes(problem.info());
    auto workspace = problem.make_workspace(notes);
    auto nodes = problem.roots();
    for (std::size_t i = 0; i < nodes.size() && nodes.size() < 64; ++i) {
        auto const node = nodes[i];
        search::Children<typename Problem::Node> children(nodes);
        if (problem.assess(node, workspace).action == search::Assessment::Action::expand)
            problem.expand(node, workspace, children);
    }
    std::vector<std::string> texts;
    for (auto const& node : nodes) {
        base::Bytes bytes;
        problem.pack(node, bytes);
        texts.push_back(text_of(bytes));
    }
    return texts;
}

} // namespace

std::vector<Target> byte_targets() {
    return {{"message", read_message, messages()},
            {"mugraph", read_mugraph, mugraph_nodes()},
            {"uts", read_uts, nodes_of(tree())},
            {"placement", read_placement, nodes_of(placement())},
            {"substitution", read_substitution, nodes_of(substitution())},
            {"mutation", read_mutation, nodes_of(mutation())}};
}

} // namespace espalier::fuzz
