#pragma once

#include "espalier/base/hash.hpp"
#include "espalier/config/problem_section.hpp"
#include "espalier/search/problem.hpp"

#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

/// Which of some numbers have a given sum? The fewer the better.
namespace subset_sum {

namespace base = espalier::base;
namespace search = espalier::search;

struct Config {
    std::vector<std::int64_t> numbers; ///< positive
    std::int64_t target = 0;
    search::Known claims{.verified = search::Verification::proved}; ///< what its results say is known about them

    bool operator==(Config const&) const = default;
};

struct Problem {
    Config config;

    struct Node {
        std::uint64_t chosen = 0; ///< one bit per number
        std::int32_t depth = 0;   ///< how many were decided on

        bool operator==(Node const&) const = default;
    };
    using Result = Node;
    struct Workspace {};
    static constexpr base::ReasonId too_large{0}, too_small{1};

    search::ProblemInfo info() const {
        return {.kind = "subset_sum", .reasons = {"too large", "too small"}, .counters = {}};
    }
    std::vector<Node> roots() const { return {Node{}}; }
    Workspace make_workspace(search::Notes&) const { return {}; }

    search::Assessment assess(Node const& node, Workspace&) const {
        auto const sum = sum_of(node.chosen);
        if (sum > config.target) return search::prune_it(too_large);
        if (node.depth < static_cast<std::int32_t>(config.numbers.size())) return search::expand_it();
        return sum == config.target ? search::is_candidate() : search::prune_it(too_small);
    }
    void expand(Node const& node, Workspace&, search::Children<Node>& children) const {
        children.push({node.chosen, node.depth + 1});
        children.push({node.chosen | std::uint64_t{1} << node.depth, node.depth + 1});
    }
    std::vector<search::VerifyOutcome<Result>> verify(std::span<Node const> nodes, Workspace&) const {
        std::vector<search::VerifyOutcome<Result>> outcomes(nodes.size());
        for (std::size_t i = 0; i < nodes.size(); ++i) outcomes[i].result = nodes[i];
        return outcomes;
    }
    search::ResultRecord record(Result const& result) const {
        search::ResultRecord record;
        record.verification = config.claims.verified;
        for (std::size_t i = 0; i < config.numbers.size(); ++i) {
            if ((result.chosen >> i & 1) == 0) continue;
            record.text += (record.text.empty() ? "" : " ") + std::to_string(config.numbers[i]);
            ++record.cost;
        }
        pack(result, record.payload);
        record.key = base::hash_bytes(record.payload);
        return record;
    }
    std::int32_t depth(Node const& node) const { return node.depth; }
    void pack(Node const& node, base::Bytes& out) const {
        base::ByteWriter writer(out);
        writer.put(node.chosen);
        writer.put(node.depth);
    }
    Node unpack(std::span<std::byte const> bytes) const {
        base::ByteReader reader(bytes);
        Node node;
        node.chosen = reader.get<std::uint64_t>();
        node.depth = reader.get<std::int32_t>();
        return node;
    }
    std::int64_t sum_of(std::uint64_t chosen) const {
        std::int64_t sum = 0;
        for (std::size_t i = 0; i < config.numbers.size(); ++i)
            if ((chosen >> i & 1) != 0) sum += config.numbers[i];
        return sum;
    }
};

} // namespace subset_sum
