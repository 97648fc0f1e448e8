#include "espalier/search/task_pool.hpp"

#include <iostream>

namespace search = espalier::search;
namespace base = espalier::base;

/// All ways to put eight queens on a board: 92 of them, in a backtracking tree of 2,057 nodes.
struct Queens {
    struct Node {
        std::int32_t row = 0;
        std::uint32_t columns = 0, left = 0, right = 0; ///< attacked squares of the row
    };
    struct Workspace {
        search::Notes& notes;
    };

    search::ProblemInfo info() const { return {.kind = "queens", .counters = {{"placements"}}, .is_counting = true}; }
    std::vector<Node> roots() const { return {Node{}}; }
    Workspace make_workspace(search::Notes& notes) const { return {notes}; }
    search::Assessment assess(Node const&, Workspace&) const { return search::expand_it(); }
    void expand(Node const& node, Workspace& workspace, search::Children<Node>& children) const {
        if (node.row == 8) return workspace.notes.add(0);
        for (std::uint32_t square = 1; square < 256; square <<= 1)
            if (((node.columns | node.left | node.right) & square) == 0)
                children.push(
                    {node.row + 1, node.columns | square, (node.left | square) << 1, (node.right | square) >> 1});
    }
    std::int32_t depth(Node const& node) const { return node.row; }
    void pack(Node const& node, base::Bytes& out) const {
        base::ByteWriter(out).put_raw(std::as_bytes(std::span(&node, 1)));
    }
    Node unpack(std::span<std::byte const> bytes) const {
        Node node;
        std::memcpy(&node, bytes.data(), sizeof node);
        return node;
    }
};

int main() {
    Queens const queens;
    search::TaskPool<Queens> pool(queens, {.threads = 2});
    base::Bytes root;
    queens.pack(queens.roots().front(), root);
    pool.add({{.bytes = root}});

    pool.run([&] {
        while (!pool.status().is_dry && !pool.failure()) pool.wait(std::chrono::milliseconds(1));
    });

    auto const counts = pool.harvest(0).counts;
    std::cout << counts.nodes << " nodes, " << counts.counters.at(0) << " placements\n";
    return counts.nodes == 2057 && counts.counters.at(0) == 92 ? 0 : 1;
}
