#include "espalier/analysis/scaling/replay.hpp"

#include "espalier/base/rng.hpp"

#include <bit>

namespace espalier::analysis::scaling {
namespace {

using search::PackedNodes;

/// Static policies deal eight subtrees per worker. Many samples are as well dealt in fewer and longer ranges, because
/// any samples are as good as others: above this number a worker gets one range.
constexpr std::size_t many_parts = std::size_t{1} << 20;

class ReplayAdapter final : public search::AnyProblem {
public:
    explicit ReplayAdapter(Replay const& replay)
        : replay_(replay), problem_(replay), engine_(search::erase(ReplayProblem(replay))) {}

    [[nodiscard]] search::ProblemInfo const& info() const override { return engine_->info(); }
    [[nodiscard]] PackedNodes roots(base::StopToken stop) const override { return engine_->roots(stop); }
    [[nodiscard]] PackedNodes next_stage(int, std::vector<search::EmitGroup> const&, base::StopToken) const override {
        return {};
    }
    [[nodiscard]] search::Seeding seed(PackedNodes const& roots, search::SeedRule rule) const override {
        search::Seeding seeding{.done = {.counts = search::zero_counts(info())}};
        std::vector<Node> level;
        for (auto const& root : roots) level.push_back(problem_.unpack(root.bytes));
        auto const subtrees = replay_.samples > 0 ? ranges(rule.subtrees)
                              : rule.depth > 0    ? above(level, rule.depth)
                                                  : wide(level, rule);
        for (auto const& node : subtrees) {
            seeding.subtrees.push_back({.depth = problem_.depth(node)});
            problem_.pack(node, seeding.subtrees.back().bytes);
        }
        return seeding;
    }
    [[nodiscard]] std::unique_ptr<search::ThreadedPool> make_pool(search::PoolOptions const& options) const override {
        return engine_->make_pool(options);
    }
    [[nodiscard]] std::unique_ptr<search::VirtualWorker>
    make_virtual_worker(search::VirtualOptions const& options) const override {
        return engine_->make_virtual_worker(options);
    }

private:
    using Node = ReplayProblem::Node;

    [[nodiscard]] std::vector<Node> ranges(std::size_t wanted) const {
        auto const parts = wanted > many_parts ? std::max(wanted / 8, many_parts) : wanted;
        return problem_.split({.count = replay_.samples}, parts);
    }
    /// Passes a chunk: what it costs and each of its children are subtrees of their own.
    void pass(Node const& node, std::vector<Node>& to) const {
        auto const& chunk = replay_.forest.chunks[node.first];
        to.push_back({.first = node.first, .is_own = true});
        for (auto c = chunk.children; c-- > 0;) to.push_back({.first = chunk.first_child + c});
    }
    [[nodiscard]] bool is_passable(Node const& node) const {
        return !node.is_own && replay_.forest.chunks[node.first].children > 0;
    }
    /// Level by level, until there are enough.
    [[nodiscard]] std::vector<Node> wide(std::vector<Node> level, search::SeedRule rule) const {
        for (bool is_growing = true; is_growing && level.size() < rule.subtrees;) {
            std::vector<Node> next;
            for (auto const& node : level) is_passable(node) ? pass(node, next) : next.push_back(node);
            is_growing = next.size() > level.size();
            level = std::move(next);
        }
        return level;
    }
    /// What begins at a depth of the searched tree or below it.
    [[nodiscard]] std::vector<Node> above(std::vector<Node> level, std::int32_t depth) const {
        std::vector<Node> subtrees;
        for (std::size_t i = 0; i < level.size(); ++i) {
            auto const node = level[i];
            if (is_passable(node) && problem_.depth(node) < depth)
                pass(node, level);
            else
                subtrees.push_back(node);
        }
        return subtrees;
    }

    Replay const& replay_;
    ReplayProblem problem_;
    std::unique_ptr<search::AnyProblem> engine_;
};

} // namespace

std::uint32_t Replay::sample(std::uint64_t i) const {
    return static_cast<std::uint32_t>(base::Rng(base::Seed{base::Rng::mix(seed) ^ i}).below(forest.roots));
}

std::vector<ReplayProblem::Node> ReplayProblem::roots() const {
    if (replay_->samples > 0) return {part(0, replay_->samples)};
    std::vector<Node> nodes;
    for (std::uint32_t i = 0; i < replay_->forest.roots; ++i) nodes.push_back({.first = i});
    return nodes;
}

/// A range, or the chunk that it is if it is one sample.
ReplayProblem::Node ReplayProblem::part(std::uint64_t first, std::uint64_t count) const {
    if (count == 1 && replay_->bundle == 1) return {.first = replay_->sample(first)};
    return {.first = first, .count = static_cast<std::uint32_t>(count)};
}

std::vector<ReplayProblem::Node> ReplayProblem::split(Node const& range, std::uint64_t parts) const {
    std::uint64_t const bundle = replay_->bundle;
    auto const bundles = (range.count + bundle - 1) / bundle;
    parts = std::min(parts, bundles);
    std::vector<Node> nodes;
    for (std::uint64_t i = 0; i < parts; ++i) {
        auto const from = bundles * i / parts * bundle;
        auto const to = std::min<std::uint64_t>(bundles * (i + 1) / parts * bundle, range.count);
        nodes.push_back(part(range.first + from, to - from));
    }
    return nodes;
}

void ReplayProblem::expand(Node const& node, Workspace&, search::Children<Node>& children) const {
    if (node.count > 0) {
        if (is_range(node))
            for (auto const& child : split(node, fan_out)) children.push(child);
        return;
    }
    auto const& chunk = replay_->forest.chunks[node.first];
    if (node.is_own) return;
    for (std::uint32_t c = 0; c < chunk.children; ++c) children.push({.first = chunk.first_child + c});
}

std::int64_t ReplayProblem::cost_ns(Node const& node) const {
    auto const& chunks = replay_->forest.chunks;
    if (node.count == 0) return chunks[node.first].cost_ns;
    if (is_range(node)) return range_ns;
    std::int64_t sum = 0; // with bundles every tree of the forest is one chunk
    for (std::uint64_t i = 0; i < node.count; ++i) sum += chunks[replay_->sample(node.first + i)].cost_ns;
    return sum;
}

std::int32_t ReplayProblem::depth(Node const& node) const {
    if (node.count > 0) return -static_cast<std::int32_t>(std::bit_width(node.count));
    return replay_->forest.chunks[node.first].depth;
}

void ReplayProblem::pack(Node const& node, base::Bytes& out) const {
    out.reserve(out.size() + 13);
    base::ByteWriter writer(out);
    writer.put(node.first);
    writer.put(node.count);
    writer.put(static_cast<std::uint8_t>(node.is_own));
}

ReplayProblem::Node ReplayProblem::unpack(std::span<std::byte const> bytes) const {
    base::ByteReader reader(bytes);
    Node node;
    node.first = reader.get<std::uint64_t>();
    node.count = reader.get<std::uint32_t>();
    node.is_own = reader.get<std::uint8_t>() != 0;
    return node;
}

std::unique_ptr<search::AnyProblem> replay_problem(Replay const& replay) {
    return std::make_unique<ReplayAdapter>(replay);
}

} // namespace espalier::analysis::scaling
