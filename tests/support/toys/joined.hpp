#pragma once

#include "espalier/base/hash.hpp"
#include "espalier/base/rng.hpp"
#include "espalier/search/problem.hpp"

#include <algorithm>

namespace espalier::toys {

/// Joins by buckets. Stage 0 emits every number below `numbers` under a hash of its remainder modulo (numbers - pairs),
/// so that exactly x and x + numbers - pairs meet, for x below `pairs`. Stage 1 finds these pairs: its results, or with
/// three stages records again, by x modulo `rows`. Stage 2 finds the `rows` groups of these.
struct Joined {
    std::uint64_t numbers = 40'000;
    std::uint64_t pairs = 100;
    std::uint64_t rows = 0;  ///< 0: two stages
    std::uint64_t leaf = 64; ///< numbers that one node emits

    struct Node {
        std::int32_t depth = 0;
        bool is_bucket = false;
        search::Bucket bucket;            ///< of a bucket
        std::uint64_t first = 0, end = 0; ///< stage 0: numbers; after it, of a group: its first value and its length

        bool operator==(Node const&) const = default;
    };
    using Result = std::pair<std::uint64_t, std::uint64_t>;
    struct Workspace {
        search::Notes* notes;
    };
    static constexpr base::ReasonId emitted{0};

    search::ProblemInfo info() const {
        return {.kind = "joined", .reasons = {"emitted"}, .counters = {}, .stages = rows == 0 ? 2 : 3};
    }
    std::vector<Node> roots() const { return {Node{.end = numbers}}; }
    Workspace make_workspace(search::Notes& notes) const { return {&notes}; }
    Node bucket_root(search::Bucket const& bucket) const { return {.is_bucket = true, .bucket = bucket}; }

    search::Assessment assess(Node const& node, Workspace& workspace) const {
        if (node.is_bucket) return search::expand_it();
        if (node.bucket.bits == stage_of_group) return search::is_candidate();
        if (node.end - node.first > leaf) return search::expand_it();
        for (auto x = node.first; x < node.end; ++x) emit(x % (numbers - pairs), x, workspace);
        return search::prune_it(emitted);
    }
    void expand(Node const& node, Workspace& workspace, search::Children<Node>& children) const {
        auto const parent = node; // pushing may move the stack that holds it
        if (parent.is_bucket) return expand_bucket(parent, workspace, children);
        auto const step = (parent.end - parent.first + 7) / 8;
        for (auto x = parent.first; x < parent.end; x += step)
            children.push({.depth = parent.depth + 1, .first = x, .end = std::min(x + step, parent.end)});
    }
    std::vector<search::VerifyOutcome<Result>> verify(std::span<Node const> nodes, Workspace&) const {
        std::vector<search::VerifyOutcome<Result>> outcomes(nodes.size());
        for (std::size_t i = 0; i < nodes.size(); ++i) outcomes[i].result = Result{nodes[i].first, nodes[i].end};
        return outcomes;
    }
    search::ResultRecord record(Result const& result) const {
        auto text = std::to_string(result.first) + " " + std::to_string(result.second);
        return {.key = base::hash_text(text), .text = std::move(text), .payload = {}};
    }

    std::int32_t depth(Node const& node) const { return node.depth; }
    void pack(Node const& node, base::Bytes& out) const {
        base::ByteWriter writer(out);
        writer.put(node.depth);
        writer.put(static_cast<std::uint8_t>(node.is_bucket));
        node.bucket.pack(writer);
        writer.put(node.first);
        writer.put(node.end);
    }
    Node unpack(std::span<std::byte const> bytes) const {
        base::ByteReader reader(bytes);
        Node node{.depth = reader.get<std::int32_t>()};
        node.is_bucket = reader.get<std::uint8_t>() != 0;
        node.bucket = search::Bucket::unpack(reader);
        node.first = reader.get<std::uint64_t>();
        node.end = reader.get<std::uint64_t>();
        return node;
    }

    /// Keys of the results, by the closed form above.
    std::vector<std::uint64_t> known() const {
        std::vector<std::uint64_t> keys;
        if (rows == 0)
            for (std::uint64_t x = 0; x < pairs; ++x) keys.push_back(record({x, 2}).key);
        for (std::uint64_t row = 0; row < rows; ++row)
            keys.push_back(record({row, (pairs - row + rows - 1) / rows}).key);
        std::ranges::sort(keys);
        return keys;
    }

private:
    static constexpr std::int32_t stage_of_group = -1; ///< in place of a bucket's bits

    void emit(std::uint64_t key, std::uint64_t value, Workspace& workspace) const {
        base::Bytes bytes;
        base::ByteWriter(bytes).put(value);
        workspace.notes->emit(base::Rng::mix(key + 1), std::move(bytes));
    }
    void expand_bucket(Node const& node, Workspace& workspace, search::Children<Node>& children) const {
        auto const is_last = node.bucket.stage + 2 == info().stages;
        for (auto const& group : workspace.notes->join(node.bucket)) {
            auto const size = group.values.size();
            auto first = base::ByteReader(group.values[0]).get<std::uint64_t>();
            for (auto const& value : group.values)
                first = std::min(first, base::ByteReader(value).get<std::uint64_t>());
            if (node.bucket.stage == 0 && size < 2) continue;
            if (is_last)
                children.push({.depth = 1, .bucket = {.bits = stage_of_group}, .first = first, .end = size});
            else
                emit(first % rows, first, workspace);
        }
    }
};
static_assert(search::SearchProblem<Joined> && search::Verifies<Joined> && search::Bucketed<Joined>);

} // namespace espalier::toys
