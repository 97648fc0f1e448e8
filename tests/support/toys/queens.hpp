#pragma once

#include "espalier/base/hash.hpp"
#include "espalier/search/problem.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>

namespace espalier::toys {

/// n queens that do not attack each other, row by row. Partial boards are pruned, full ones are verified in batches.
struct Queens {
    int n = 8; ///< 1 .. 16

    struct Node {
        std::array<std::uint8_t, 16> columns{};
        std::int32_t rows = 0;

        bool operator==(Node const&) const = default;
    };
    using Result = Node;
    struct Workspace {};
    static constexpr base::ReasonId attacked{0};
    /// Number of solutions by n, from n = 1 (OEIS A000170).
    static constexpr std::array<std::uint64_t, 10> known{1, 0, 0, 2, 10, 4, 40, 92, 352, 724};

    search::ProblemInfo info() const { return {.kind = "queens", .reasons = {"attacked"}, .counters = {}}; }
    std::vector<Node> roots() const { return {Node{}}; }
    Workspace make_workspace(search::Notes&) const { return {}; }

    search::Assessment assess(Node const& node, Workspace&) const {
        if (node.rows == n) return search::is_candidate();
        return is_attacked(node) ? search::prune_it(attacked) : search::expand_it();
    }
    void expand(Node const& node, Workspace&, search::Children<Node>& children) const {
        auto child = node;
        ++child.rows;
        for (int column = 0; column < n; ++column) {
            child.columns[child.rows - 1] = static_cast<std::uint8_t>(column);
            children.push(child);
        }
    }
    std::vector<search::VerifyOutcome<Result>> verify(std::span<Node const> nodes, Workspace&) const {
        std::vector<search::VerifyOutcome<Result>> outcomes(nodes.size());
        for (std::size_t i = 0; i < nodes.size(); ++i) {
            if (is_attacked(nodes[i]))
                outcomes[i].reason = attacked;
            else
                outcomes[i].result = nodes[i];
        }
        return outcomes;
    }
    search::ResultRecord record(Result const& result) const {
        search::ResultRecord record;
        record.verification = search::Verification::proved;
        for (int row = 0; row < result.rows; ++row) {
            record.text += (row > 0 ? " " : "") + std::to_string(result.columns[row]);
            record.cost += row * result.columns[row];
        }
        pack(result, record.payload);
        record.key = base::hash_bytes(record.payload);
        return record;
    }

    std::int32_t depth(Node const& node) const { return node.rows; }
    void pack(Node const& node, base::Bytes& out) const {
        base::ByteWriter(out).put_list<std::uint8_t>({node.columns.data(), static_cast<std::size_t>(node.rows)});
    }
    Node unpack(std::span<std::byte const> bytes) const {
        auto const columns = base::ByteReader(bytes).get_list<std::uint8_t>();
        Node node{.rows = static_cast<std::int32_t>(columns.size())};
        std::ranges::copy(columns, node.columns.begin());
        return node;
    }

private:
    /// The last queen, by one above it.
    static bool is_attacked(Node const& node) {
        auto const last = node.rows - 1;
        for (int row = 0; row < last; ++row) {
            auto const distance = std::abs(node.columns[row] - node.columns[last]);
            if (distance == 0 || distance == last - row) return true;
        }
        return false;
    }
};
static_assert(search::SearchProblem<Queens> && search::Verifies<Queens>);

} // namespace espalier::toys
