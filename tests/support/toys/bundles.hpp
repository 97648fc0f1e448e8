#pragma once

#include "espalier/base/hash.hpp"
#include "espalier/base/rng.hpp"
#include "espalier/search/problem.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <set>

namespace espalier::toys {

/// The cheapest bundles of k of n things, for every k: a class for each size. Prices are small, so that many tie. A
/// bundle of many costs more than one of few, so that one incumbent for all would lose nearly every class.
class Bundles {
public:
    struct Node {
        std::uint32_t chosen = 0; ///< things, as bits
        std::int32_t size = 0;    ///< wanted; 0: not yet decided
        std::int32_t next = 0;    ///< the first thing that may still be chosen

        bool operator==(Node const&) const = default;
    };
    using Result = std::uint32_t;
    struct Workspace {};
    static constexpr base::ReasonId too_few_left{0};

    explicit Bundles(int n, base::Seed seed = base::Seed{1}) {
        base::Rng rng(seed);
        for (int i = 0; i < n; ++i) prices_.push_back(1 + static_cast<int>(rng.below(5)));
    }

    search::ProblemInfo info() const {
        return {.kind = "bundles", .reasons = {"too_few_left"}, .counters = {}, .has_bound = true};
    }
    std::vector<Node> roots() const { return {Node{}}; }
    Workspace make_workspace(search::Notes&) const { return {}; }
    search::Assessment assess(Node const& node, Workspace&) const {
        if (node.size > 0 && missing(node) == 0) return search::is_candidate();
        return missing(node) > things() - node.next ? search::prune_it(too_few_left) : search::expand_it();
    }
    void expand(Node const& node, Workspace&, search::Children<Node>& children) const {
        auto const parent = node; // pushing may move the stack that holds it
        if (parent.size == 0) {
            for (int size = 1; size <= things(); ++size) children.push({0, size, 0});
            return;
        }
        for (int i = parent.next; i < things(); ++i) children.push({parent.chosen | 1u << i, parent.size, i + 1});
    }
    std::vector<search::VerifyOutcome<Result>> verify(std::span<Node const> nodes, Workspace&) const {
        std::vector<search::VerifyOutcome<Result>> outcomes(nodes.size());
        for (std::size_t i = 0; i < nodes.size(); ++i) outcomes[i].result = nodes[i].chosen;
        return outcomes;
    }
    search::ResultRecord record(Result chosen) const {
        search::ResultRecord record{.key = base::hash_combine(1, chosen), .cost = double(price(chosen))};
        base::ByteWriter(record.payload).put(chosen);
        return record;
    }

    /// Nothing costs less than 1.
    double bound(Node const& node) const { return price(node.chosen) + missing(node); }
    std::optional<std::uint64_t> class_of(Node const& node) const {
        if (node.size == 0) return std::nullopt;
        return static_cast<std::uint64_t>(node.size);
    }
    std::uint64_t class_of(search::ResultRecord const& record) const {
        return static_cast<std::uint64_t>(std::popcount(base::ByteReader(record.payload).get<std::uint32_t>()));
    }

    std::int32_t depth(Node const& node) const { return (node.size > 0 ? 1 : 0) + std::popcount(node.chosen); }
    void pack(Node const& node, base::Bytes& out) const {
        base::ByteWriter writer(out);
        writer.put(node.chosen);
        writer.put(node.size);
        writer.put(node.next);
    }
    Node unpack(std::span<std::byte const> bytes) const {
        base::ByteReader reader(bytes);
        Node node{.chosen = reader.get<std::uint32_t>()};
        node.size = reader.get<std::int32_t>();
        node.next = reader.get<std::int32_t>();
        return node;
    }

    /// Keys of all bundles that no other one of their size beats, sorted: every subset is looked at.
    std::vector<std::uint64_t> brute_force() const {
        std::map<int, int> best;
        for (std::uint32_t set = 1; set < 1u << things(); ++set) {
            auto const [at, is_new] = best.try_emplace(std::popcount(set), price(set));
            if (!is_new) at->second = std::min(at->second, price(set));
        }
        std::set<std::uint64_t> keys;
        for (std::uint32_t set = 1; set < 1u << things(); ++set)
            if (price(set) == best.at(std::popcount(set))) keys.insert(record(set).key);
        return {keys.begin(), keys.end()};
    }

private:
    int things() const { return static_cast<int>(prices_.size()); }
    int missing(Node const& node) const { return std::max(node.size - std::popcount(node.chosen), 0); }
    int price(std::uint32_t set) const {
        int sum = 0;
        for (; set != 0; set &= set - 1) sum += prices_[static_cast<std::size_t>(std::countr_zero(set))];
        return sum;
    }

    std::vector<int> prices_;
};
static_assert(search::SearchProblem<Bundles> && search::Classed<Bundles>);

} // namespace espalier::toys
