#pragma once

#include "espalier/problems/placement/pairs.hpp"
#include "espalier/search/problem.hpp"

#include <memory>

namespace espalier::problems::placement {

/// A partial program for one pair: numbers of steps, each a grouping and a collective.
struct Node {
    static constexpr std::size_t max_steps = 8;
    std::uint32_t pair = 0;
    std::uint8_t count = 0;
    std::array<std::uint8_t, max_steps> steps{};
    float bound_us = 0; ///< least time of everything that starts so; only branch and bound needs it

    bool operator==(Node const&) const = default;
};

struct Result {
    std::uint32_t pair = 0;
    reduction::Program program;
    double predicted_us = 0;
    int segments = 1;
};

/// All programs of collectives, up to a length, that do what is asked for on every placement: a tree search over states
/// of a small system with as many levels, since what is possible does not depend on sizes. A program that arrives is
/// run with random numbers on the real sizes before it counts.
class Placement {
public:
    using Node = placement::Node;
    using Result = placement::Result;
    class Workspace;

    Placement(PlacementConfig const& config, std::uint64_t seed);

    [[nodiscard]] search::ProblemInfo info() const;
    [[nodiscard]] std::vector<Node> roots() const;
    [[nodiscard]] Workspace make_workspace(search::Notes& notes) const;
    [[nodiscard]] search::Assessment assess(Node const& node, Workspace& workspace) const;
    void expand(Node const& node, Workspace& workspace, search::Children<Node>& children) const;
    [[nodiscard]] std::int32_t depth(Node const& node) const { return node.count; }
    void pack(Node const& node, base::Bytes& out) const;
    [[nodiscard]] Node unpack(std::span<std::byte const> bytes) const;
    [[nodiscard]] std::vector<search::VerifyOutcome<Result>> verify(std::span<Node const> nodes,
                                                                    Workspace& workspace) const;
    [[nodiscard]] search::ResultRecord record(Result const& result) const;

    struct Shared;

protected:
    std::shared_ptr<Shared> shared_;
};

/// The same with branch and bound: what already takes longer than the best program known is dropped.
class CheapestPlacement : public Placement {
public:
    CheapestPlacement(PlacementConfig const& config, std::uint64_t seed);
    [[nodiscard]] double bound(Node const& node) const { return static_cast<double>(node.bound_us); }
};

/// Transitions between states, remembered. One a thread.
class Placement::Workspace {
public:
    struct Impl;
    explicit Workspace(std::unique_ptr<Impl> impl);
    Workspace(Workspace&&) noexcept;
    Workspace& operator=(Workspace&&) noexcept;
    ~Workspace();
    [[nodiscard]] Impl* operator->() const { return impl_.get(); }

private:
    std::unique_ptr<Impl> impl_;
};

} // namespace espalier::problems::placement
