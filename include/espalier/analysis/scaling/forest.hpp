#pragma once

#include "espalier/trace/event.hpp"

#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

namespace espalier::analysis::scaling {

/// Measured chunks and which of them made the nodes that another one began with. Parents come before their children;
/// the children of one lie together, the latest first, as an engine that takes the last one first expects them.
struct Forest {
    struct Chunk {
        std::int64_t cost_ns = 0;
        std::uint32_t first_child = 0;
        std::uint32_t children = 0;
        std::int32_t depth = 0; ///< of its first node, in the searched tree

        bool operator==(Chunk const&) const = default;
    };
    std::vector<Chunk> chunks;
    std::uint32_t roots = 0; ///< they are the first chunks

    [[nodiscard]] std::int64_t total_ns() const;
    /// The longest chain from a root.
    [[nodiscard]] std::int64_t critical_path_ns() const;
    /// By chunk: the cost of it and of all below it.
    [[nodiscard]] std::vector<std::int64_t> subtree_ns() const;

    bool operator==(Forest const&) const = default;
};

/// Makes a forest of trace events, which may come in any order and be damaged: what has no parent in the trace is a
/// root, and a cycle is cut open.
class ForestBuilder {
public:
    /// More chunks than `max_chunks` are joined with their neighbours in time: memory is bounded.
    explicit ForestBuilder(std::size_t max_chunks = std::size_t{8} << 20) : max_chunks_(max_chunks) {}

    /// All events of a rank but chunks and verifications only tell how busy its threads were.
    void add(std::int32_t rank, std::span<trace::Event const> events);

    /// Costs are CPU times, longer by what the threads did between their chunks. A chunk that worked on several
    /// subtrees becomes as many pieces: any of them could have gone elsewhere, and most of them are
    /// small, so that ranks that get one are hungry again at once. What comes later hangs below the last of them,
    /// because a thread finishes one subtree before it begins the next.
    [[nodiscard]] Forest build();

    [[nodiscard]] std::uint64_t chunks() const { return chunks_; } ///< that were added, each of the merged ones
    [[nodiscard]] bool was_joined() const { return was_joined_; }
    [[nodiscard]] std::uint64_t orphans() const { return orphans_; } ///< whose parent is missing; after build()
    /// Of the wall time of the chunks: how much CPU time they got.
    [[nodiscard]] double cpu_share() const;
    /// How much longer a chunk takes with what is done between chunks; at least 1.
    [[nodiscard]] double overhead() const;

private:
    struct Measured {
        std::uint64_t id;
        std::uint64_t parent;
        std::int64_t start_ns;
        std::int64_t cost_ns;
        std::int32_t depth;
        std::uint32_t pieces; ///< subtrees that it worked on, at least 1
    };
    struct Thread {
        std::int64_t first_ns, last_ns, covered_ns;
    };
    void halve();
    void limit_pieces();
    [[nodiscard]] static std::int64_t piece_ns(std::int64_t all_ns, std::uint32_t pieces, std::uint32_t number);
    [[nodiscard]] std::vector<std::uint32_t> parents();
    [[nodiscard]] std::uint32_t find(std::uint64_t id) const;

    std::size_t max_chunks_;
    std::vector<Measured> measured_;
    std::map<std::pair<std::int32_t, std::uint16_t>, Thread> threads_; ///< by rank and number
    std::uint64_t chunks_ = 0;
    std::uint64_t orphans_ = 0;
    std::int64_t wall_ns_ = 0;
    std::int64_t cpu_ns_ = 0;
    bool was_joined_ = false;
};

/// Joins subtrees that cost less than the grain with their siblings or their parent. The total stays the same; chains
/// get longer by less than a grain at every branching. At most about 3 x total / grain chunks are left.
[[nodiscard]] Forest join(Forest const& forest, std::int64_t grain_ns);

/// Cuts into subtrees that cost at most `most_ns` and are as large as they can be. They are the roots of the result;
/// each chunk above them is one on its own.
[[nodiscard]] Forest cut(Forest const& forest, std::int64_t most_ns);

} // namespace espalier::analysis::scaling
