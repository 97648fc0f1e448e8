#pragma once

#include "espalier/base/hash.hpp"
#include "espalier/search/problem.hpp"

#include <cmath>

namespace espalier::toys {

/// Stage 0 writes down every number below radix^digits, digit by digit, under the key x^2 mod m. Stage 1 takes all
/// pairs with equal keys; those with an even sum are results.
struct TwoStage {
    std::uint32_t digits = 3;
    std::uint32_t radix = 5;
    std::uint64_t m = 37;

    /// Stage 0: the digits so far as one number. Stage 1: the numbers of a group, then two of them.
    struct Node {
        std::uint8_t stage = 0;
        std::int32_t depth = 0;
        std::vector<std::uint32_t> numbers;

        bool operator==(Node const&) const = default;
    };
    using Pair = std::pair<std::uint32_t, std::uint32_t>;
    using Result = Pair;
    struct Workspace {
        search::Notes* notes;
    };
    static constexpr base::ReasonId emitted{0}, odd_sum{1};

    search::ProblemInfo info() const {
        return {.kind = "two_stage", .reasons = {"emitted", "odd_sum"}, .counters = {}, .stages = 2};
    }
    std::vector<Node> roots() const { return {Node{.numbers = {0}}}; }
    Workspace make_workspace(search::Notes& notes) const { return {&notes}; }

    search::Assessment assess(Node const& node, Workspace& workspace) const {
        if (node.stage == 1) return node.depth == 1 ? search::is_candidate() : search::expand_it();
        if (node.depth < static_cast<std::int32_t>(digits)) return search::expand_it();
        base::Bytes bytes;
        base::ByteWriter(bytes).put(node.numbers[0]);
        workspace.notes->emit(key(node.numbers[0]), std::move(bytes));
        return search::prune_it(emitted);
    }
    void expand(Node const& node, Workspace&, search::Children<Node>& children) const {
        auto const parent = node; // pushing may move the stack that holds it
        if (parent.stage == 0) {
            for (std::uint32_t digit = 0; digit < radix; ++digit)
                children.push(Node{0, parent.depth + 1, {parent.numbers[0] * radix + digit}});
            return;
        }
        for (std::size_t b = 0; b < parent.numbers.size(); ++b)
            for (std::size_t a = 0; a < b; ++a) children.push(Node{1, 1, {parent.numbers[a], parent.numbers[b]}});
    }
    std::vector<search::VerifyOutcome<Result>> verify(std::span<Node const> nodes, Workspace&) const {
        std::vector<search::VerifyOutcome<Result>> outcomes(nodes.size());
        for (std::size_t i = 0; i < nodes.size(); ++i) {
            Pair const pair{nodes[i].numbers[0], nodes[i].numbers[1]};
            if (is_result(pair))
                outcomes[i].result = pair;
            else
                outcomes[i].reason = odd_sum;
        }
        return outcomes;
    }
    search::ResultRecord record(Result const& pair) const {
        search::ResultRecord record;
        record.cost = pair.first + pair.second;
        record.verification = search::Verification::proved;
        record.text = std::to_string(pair.first) + " " + std::to_string(pair.second);
        record.key = base::hash_text(record.text);
        return record;
    }
    std::vector<Node> next_stage(int stage, std::vector<search::EmitGroup> const& groups) const {
        std::vector<Node> nodes;
        if (stage > 0) return nodes;
        for (auto const& group : groups) {
            if (group.values.size() < 2) continue;
            nodes.push_back(Node{1, 0, {}});
            for (auto const& bytes : group.values)
                nodes.back().numbers.push_back(base::ByteReader(bytes).get<std::uint32_t>());
        }
        return nodes;
    }

    std::int32_t depth(Node const& node) const { return node.depth; }
    void pack(Node const& node, base::Bytes& out) const {
        base::ByteWriter writer(out);
        writer.put(node.stage);
        writer.put(node.depth);
        writer.put_list<std::uint32_t>(node.numbers);
    }
    Node unpack(std::span<std::byte const> bytes) const {
        base::ByteReader reader(bytes);
        Node node;
        node.stage = reader.get<std::uint8_t>();
        node.depth = reader.get<std::int32_t>();
        node.numbers = reader.get_list<std::uint32_t>();
        return node;
    }

    /// All results; the smaller number of a pair first.
    std::vector<Pair> brute_force() const {
        std::vector<Pair> pairs;
        auto const n = static_cast<std::uint32_t>(std::lround(std::pow(radix, digits)));
        for (std::uint32_t b = 0; b < n; ++b)
            for (std::uint32_t a = 0; a < b; ++a)
                if (key(a) == key(b) && is_result({a, b})) pairs.emplace_back(a, b);
        return pairs;
    }

private:
    std::uint64_t key(std::uint64_t x) const { return x * x % m; }
    static bool is_result(Pair pair) { return (pair.first + pair.second) % 2 == 0; }
};
static_assert(search::SearchProblem<TwoStage> && search::Verifies<TwoStage> && search::Staged<TwoStage>);

} // namespace espalier::toys
