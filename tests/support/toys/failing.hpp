#pragma once

#include "espalier/search/problem.hpp"

#include <stdexcept>

namespace espalier::toys {

/// A full binary tree whose leaves are candidates (all rejected); at one node a function throws.
struct Failing {
    enum class Where { nowhere, assess, expand, verify };
    struct Options {
        int levels = 10;
        std::uint32_t node = 1; ///< as in a heap: the root is 1, children of i are 2i and 2i + 1
        Where where = Where::nowhere;
    };
    Options options;

    struct Node {
        std::uint32_t id = 1;
        std::int32_t depth = 0;

        bool operator==(Node const&) const = default;
    };
    using Result = Node;
    struct Workspace {};
    struct Failure : std::runtime_error {
        using std::runtime_error::runtime_error;
    };
    static constexpr base::ReasonId refused{0};

    search::ProblemInfo info() const { return {.kind = "failing", .reasons = {"refused"}, .counters = {}}; }
    std::vector<Node> roots() const { return {Node{}}; }
    Workspace make_workspace(search::Notes&) const { return {}; }

    search::Assessment assess(Node const& node, Workspace&) const {
        fail_at(node, Where::assess);
        return node.depth + 1 < options.levels ? search::expand_it() : search::is_candidate();
    }
    void expand(Node const& node, Workspace&, search::Children<Node>& children) const {
        fail_at(node, Where::expand);
        auto const parent = node; // pushing may move the stack that holds it
        children.push({2 * parent.id, parent.depth + 1});
        children.push({2 * parent.id + 1, parent.depth + 1});
    }
    std::vector<search::VerifyOutcome<Result>> verify(std::span<Node const> nodes, Workspace&) const {
        for (auto const& node : nodes) fail_at(node, Where::verify);
        return std::vector<search::VerifyOutcome<Result>>(nodes.size(), {.result = {}, .reason = refused});
    }
    search::ResultRecord record(Result const&) const { return {}; }

    std::int32_t depth(Node const& node) const { return node.depth; }
    void pack(Node const& node, base::Bytes& out) const {
        base::ByteWriter writer(out);
        writer.put(node.id);
        writer.put(node.depth);
    }
    Node unpack(std::span<std::byte const> bytes) const {
        base::ByteReader reader(bytes);
        auto const id = reader.get<std::uint32_t>();
        return {id, reader.get<std::int32_t>()};
    }

    std::uint64_t nodes() const { return (std::uint64_t{1} << options.levels) - 1; }
    std::uint64_t leaves() const { return std::uint64_t{1} << (options.levels - 1); }

private:
    void fail_at(Node const& node, Where here) const {
        if (options.where == here && options.node == node.id)
            throw Failure("toy failure at node " + std::to_string(node.id));
    }
};
static_assert(search::SearchProblem<Failing> && search::Verifies<Failing>);

} // namespace espalier::toys
