#pragma once

#include "espalier/analysis/analysis.hpp"

namespace espalier::analysis {

/// The chunks of a run and which chunk each came from, in bounded memory: past the limit neighbours of a thread are
/// joined, and a chunk whose parent was joined hangs below what it was joined into.
class Forest {
public:
    explicit Forest(std::size_t max_chunks) : max_chunks_(max_chunks) {}

    /// Of Kind::chunk or Kind::verify, with times since the start of the run.
    void add(trace::Event const& event);
    /// After the last chunk.
    void finish();

    [[nodiscard]] std::vector<Subtree> longest(std::size_t count) const;
    [[nodiscard]] std::vector<SizeClass> sizes() const;
    /// How many chunks became one, at most; 1: none were joined.
    [[nodiscard]] std::uint32_t grain() const { return grain_; }

private:
    struct Piece { ///< one chunk or several neighbours
        std::uint64_t id = 0;
        std::uint64_t parent = 0;
        std::int64_t start_ns = 0;
        std::int64_t end_ns = 0;
        std::int64_t useful_ns = 0;
        std::uint64_t nodes = 0;
        std::uint32_t chunks = 0;
        std::int32_t depth = 0;
    };
    static constexpr std::uint32_t none = ~std::uint32_t{0};

    void coarsen();
    [[nodiscard]] std::uint32_t find(std::uint64_t id, std::uint32_t child) const;
    void order_by_parents();

    std::size_t max_chunks_;
    std::uint32_t grain_ = 1;
    std::vector<Piece> pieces_;          ///< after finish: by id, so that a thread's are together and in order
    std::vector<std::uint32_t> parents_; ///< of pieces
    std::vector<std::uint32_t> order_;   ///< children before their parents
};

} // namespace espalier::analysis
