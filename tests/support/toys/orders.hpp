#pragma once

#include "espalier/base/hash.hpp"
#include "espalier/base/rng.hpp"
#include "espalier/search/problem.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <set>

namespace espalier::toys {

/// Things are put into a bag one by one, in any order: k! orders lead to the same bag. Every bag of `k` of `n` things
/// is a result, so that each bag that is lost on the way loses some.
struct Bags {
    int n = 9;
    int k = 5;

    struct Node {
        std::uint32_t bag = 0; ///< things, as bits; does not tell how it was filled

        bool operator==(Node const&) const = default;
    };
    using Result = std::uint32_t;
    struct Workspace {};

    search::ProblemInfo info() const { return {.kind = "bags", .reasons = {}, .counters = {}}; }
    std::vector<Node> roots() const { return {Node{}}; }
    Workspace make_workspace(search::Notes&) const { return {}; }
    search::Assessment assess(Node const& node, Workspace&) const {
        return depth(node) == k ? search::is_candidate() : search::expand_it();
    }
    void expand(Node const& node, Workspace&, search::Children<Node>& children) const {
        auto const bag = node.bag; // pushing may move the stack that holds it
        for (int i = 0; i < n; ++i)
            if ((bag >> i & 1u) == 0) children.push({bag | 1u << i});
    }
    std::vector<search::VerifyOutcome<Result>> verify(std::span<Node const> nodes, Workspace&) const {
        std::vector<search::VerifyOutcome<Result>> outcomes(nodes.size());
        for (std::size_t i = 0; i < nodes.size(); ++i) outcomes[i].result = nodes[i].bag;
        return outcomes;
    }
    search::ResultRecord record(Result bag) const {
        return {.key = base::hash_combine(2, bag), .text = {}, .payload = {}};
    }
    search::State state(Node const& node) const {
        return {base::hash_combine(3, node.bag), base::hash_combine(4, node.bag)};
    }

    std::int32_t depth(Node const& node) const { return std::popcount(node.bag); }
    void pack(Node const& node, base::Bytes& out) const { base::ByteWriter(out).put(node.bag); }
    Node unpack(std::span<std::byte const> bytes) const { return {base::ByteReader(bytes).get<std::uint32_t>()}; }

    /// Keys of all results, sorted.
    std::vector<std::uint64_t> brute_force() const {
        std::vector<std::uint64_t> keys;
        for (std::uint32_t bag = 0; bag < 1u << n; ++bag)
            if (std::popcount(bag) == k) keys.push_back(record(bag).key);
        std::ranges::sort(keys);
        return keys;
    }
    /// Nodes of the tree: every order.
    std::uint64_t orders() const {
        std::uint64_t nodes = 1;
        std::uint64_t level = 1;
        for (int i = 0; i < k; ++i) nodes += level *= static_cast<std::uint64_t>(n - i);
        return nodes;
    }
};
static_assert(search::SearchProblem<Bags> && search::Remembers<Bags>);

/// The cheapest ways through all of n towns from the first one, whichever town they end in: results are the last towns
/// of ways that nothing beats. Two ways that have seen the same towns and stand in the same one differ by their cost.
class LastTowns {
public:
    struct Node {
        std::uint32_t seen = 1;
        std::int32_t at = 0;
        std::int32_t cost = 0;

        bool operator==(Node const&) const = default;
    };
    using Result = Node;
    struct Workspace {};

    explicit LastTowns(int n, base::Seed seed = base::Seed{1}) : n_(n) {
        base::Rng rng(seed);
        for (int i = 0; i < n * n; ++i) distance_.push_back(1 + static_cast<int>(rng.below(4)));
    }
    search::ProblemInfo info() const {
        return {.kind = "last_towns", .reasons = {}, .counters = {}, .has_bound = true};
    }
    std::vector<Node> roots() const { return {Node{}}; }
    Workspace make_workspace(search::Notes&) const { return {}; }
    search::Assessment assess(Node const& node, Workspace&) const {
        return std::popcount(node.seen) == n_ ? search::is_candidate() : search::expand_it();
    }
    void expand(Node const& node, Workspace&, search::Children<Node>& children) const {
        auto const parent = node; // pushing may move the stack that holds it
        for (int to = 0; to < n_; ++to)
            if ((parent.seen >> to & 1u) == 0)
                children.push({parent.seen | 1u << to, to, parent.cost + distance(parent.at, to)});
    }
    std::vector<search::VerifyOutcome<Result>> verify(std::span<Node const> nodes, Workspace&) const {
        std::vector<search::VerifyOutcome<Result>> outcomes(nodes.size());
        for (std::size_t i = 0; i < nodes.size(); ++i) outcomes[i].result = nodes[i];
        return outcomes;
    }
    search::ResultRecord record(Result const& node) const {
        auto const key = base::hash_combine(static_cast<std::uint64_t>(node.at), static_cast<std::uint64_t>(node.cost));
        return {.key = key, .cost = double(node.cost), .text = {}, .payload = {}};
    }
    double bound(Node const& node) const { return node.cost + n_ - std::popcount(node.seen); }
    search::State state(Node const& node) const {
        auto const place = std::uint64_t{node.seen} << 8 | static_cast<std::uint64_t>(node.at);
        return {base::hash_combine(5, place), base::hash_combine(6, place), double(node.cost)};
    }
    std::int32_t depth(Node const& node) const { return std::popcount(node.seen); }
    void pack(Node const& node, base::Bytes& out) const {
        base::ByteWriter writer(out);
        writer.put(node.seen);
        writer.put(node.at);
        writer.put(node.cost);
    }
    Node unpack(std::span<std::byte const> bytes) const {
        base::ByteReader reader(bytes);
        Node node{.seen = reader.get<std::uint32_t>()};
        node.at = reader.get<std::int32_t>();
        node.cost = reader.get<std::int32_t>();
        return node;
    }

    /// Keys of the results, sorted: every permutation is walked.
    std::vector<std::uint64_t> brute_force() const {
        std::vector<int> order;
        for (int i = 1; i < n_; ++i) order.push_back(i);
        std::map<int, std::set<int>> last_by_cost;
        do {
            int cost = distance(0, order.front());
            for (std::size_t i = 1; i < order.size(); ++i) cost += distance(order[i - 1], order[i]);
            last_by_cost[cost].insert(order.back());
        } while (std::ranges::next_permutation(order).found);
        std::vector<std::uint64_t> keys;
        auto const& [cost, towns] = *last_by_cost.begin();
        for (auto const town : towns) keys.push_back(record({.at = town, .cost = cost}).key);
        std::ranges::sort(keys);
        return keys;
    }

private:
    int distance(int from, int to) const { return distance_[static_cast<std::size_t>(from * n_ + to)]; }

    int n_;
    std::vector<int> distance_;
};
static_assert(search::SearchProblem<LastTowns> && search::Bounded<LastTowns> && search::Remembers<LastTowns>);

} // namespace espalier::toys
