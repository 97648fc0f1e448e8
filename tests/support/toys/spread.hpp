#pragma once

#include "espalier/base/rng.hpp"
#include "espalier/search/problem.hpp"

#include <algorithm>
#include <cmath>
#include <type_traits>

namespace espalier::toys {

/// A random unbalanced tree in the manner of UTS, with a hash that costs nothing.
class Spread {
public:
    enum class Kind {
        binomial,  ///< a wide root; below it 4 children or none: few subtrees are very large
        geometric, ///< a geometric number of children down to depth 8
    };
    struct Options {
        base::Seed seed{1};
        double expected_size = 10'000; ///< nodes on average over seeds; one tree may differ much
        Kind kind = Kind::binomial;
    };
    struct Node {
        std::uint64_t state = 0;
        std::int32_t depth = 0;
        std::int32_t children = 0;

        bool operator==(Node const&) const = default;
    };
    struct Workspace {
        search::Notes* notes;
    };
    struct Size {
        std::uint64_t nodes = 0, leaves = 0, depth = 0;
    };
    static constexpr base::ReasonId leaf{0};

    explicit Spread(Options const& options) : options_(options) {
        width_ = std::max(2.0, std::round(std::sqrt(options.expected_size)));
        split_ = (1 - width_ / std::max(options.expected_size, 2 * width_)) / branches;
        log_stop_ = std::log(1 - 1 / (1 + mean_for(options.expected_size)));
    }

    search::ProblemInfo info() const {
        return {.kind = "spread",
                .reasons = {"leaf"},
                .counters = {{"depth", search::CounterKind::max}},
                .is_counting = true};
    }
    std::vector<Node> roots() const { return {made(base::Rng::mix(options_.seed.value + golden), 0)}; }
    Workspace make_workspace(search::Notes& notes) const { return {&notes}; }

    search::Assessment assess(Node const& node, Workspace& workspace) const {
        workspace.notes->raise(0, static_cast<std::uint64_t>(node.depth));
        return node.children > 0 ? search::expand_it() : search::prune_it(leaf);
    }
    void expand(Node const& node, Workspace&, search::Children<Node>& children) const {
        auto const parent = node; // pushing may move the stack that holds it
        for (std::int32_t i = 0; i < parent.children; ++i) children.push(child(parent, i));
    }
    std::int32_t depth(Node const& node) const { return node.depth; }
    void pack(Node const& node, base::Bytes& out) const {
        base::ByteWriter writer(out);
        writer.put(node.state);
        writer.put(node.depth);
    }
    Node unpack(std::span<std::byte const> bytes) const {
        base::ByteReader reader(bytes);
        auto const state = reader.get<std::uint64_t>();
        return made(state, reader.get<std::int32_t>());
    }

    /// Counts with a stack of its own.
    Size count() const {
        Size size;
        auto stack = roots();
        while (!stack.empty()) {
            auto const node = stack.back();
            stack.pop_back();
            ++size.nodes;
            size.leaves += node.children == 0;
            size.depth = std::max(size.depth, static_cast<std::uint64_t>(node.depth));
            for (std::int32_t i = 0; i < node.children; ++i) stack.push_back(child(node, i));
        }
        return size;
    }

private:
    static constexpr std::uint64_t golden = 0x9E3779B97F4A7C15ull;
    static constexpr std::int32_t branches = 4, geometric_depth = 8, max_children = 1000;

    /// b with 1 + b + ... + b^8 = size.
    static double mean_for(double size) {
        double low = 0, high = std::max(size, 1.0);
        for (int step = 0; step < 100; ++step) {
            auto const b = (low + high) / 2;
            double sum = 0, power = 1;
            for (int d = 0; d <= geometric_depth; ++d, power *= b) sum += power;
            (sum < size ? low : high) = b;
        }
        return low;
    }
    Node child(Node const& parent, std::int32_t i) const {
        return made(base::Rng::mix(parent.state + golden * static_cast<std::uint64_t>(i + 1)), parent.depth + 1);
    }
    Node made(std::uint64_t state, std::int32_t depth) const {
        auto const u = static_cast<double>(state >> 11) * 0x1.0p-53;
        return {state, depth, options_.kind == Kind::binomial ? binomial(u, depth) : geometric(u, depth)};
    }
    std::int32_t binomial(double u, std::int32_t depth) const {
        if (depth == 0) return static_cast<std::int32_t>(width_);
        return u < split_ ? branches : 0;
    }
    std::int32_t geometric(double u, std::int32_t depth) const {
        if (depth >= geometric_depth) return 0;
        return std::min(static_cast<std::int32_t>(std::log(1 - u) / log_stop_), max_children);
    }

    Options options_;
    double width_ = 0;    ///< binomial: children of the root
    double split_ = 0;    ///< binomial: probability of `branches` children
    double log_stop_ = 0; ///< geometric
};
static_assert(search::SearchProblem<Spread>);
static_assert(sizeof(Spread::Node) == 16 && std::is_trivially_copyable_v<Spread::Node>);

} // namespace espalier::toys
