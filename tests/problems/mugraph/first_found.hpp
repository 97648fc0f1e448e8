#pragma once

#include "programs.hpp"

#include "espalier/problems/mugraph/space.hpp"

#include <optional>

namespace espalier::problems::mugraph {

/// Depth first through the stages of a search, one node at a time, up to the program that is looked for.
class FirstFound {
public:
    explicit FirstFound(MugraphConfig const& config)
        : problem_(config, {}, 1), info_(problem_.info()), notes_(info_), workspace_(problem_.make_workspace(notes_)) {}

    struct Stages {
        int first = 0, last = 1000;
    };
    /// Nothing if none of the stages has such a program.
    template <class Is>
    std::optional<program::Graph> run(Is&& is, Stages stages = {}) {
        auto stage = stages.first;
        auto stack = stage == 0 ? problem_.roots() : problem_.next_stage(stage - 1, {});
        for (; !stack.empty() && stage <= stages.last; stack = problem_.next_stage(stage++, {}))
            while (!stack.empty())
                if (auto const found = visit(stack); found && is(*found)) return found;
        return std::nullopt;
    }

private:
    std::optional<program::Graph> visit(std::vector<Node>& stack) {
        auto const node = stack.back();
        stack.pop_back();
        search::Children<Node> children(stack);
        if (problem_.assess(node, workspace_).action == search::Assessment::Action::expand) {
            problem_.expand(node, workspace_, children);
            return std::nullopt;
        }
        auto const outcome = problem_.verify(std::span(&node, 1), workspace_).front();
        if (!outcome.result || !outcome.result->is_proved) return std::nullopt;
        return outcome.result->graph;
    }

    Mugraph problem_;
    search::ProblemInfo info_;
    search::Notes notes_;
    Mugraph::Workspace workspace_;
};

/// One graph-defined kernel with a loop.
[[nodiscard]] inline bool is_looped_kernel(program::Graph const& graph) {
    return program::kernel_count(graph) == 1 && program::graph_kernel_count(graph) == 1 &&
           graph.bodies[0].schedule.loop > 1;
}
[[nodiscard]] inline bool uses(program::Graph const& block, program::OpCode code) {
    return std::ranges::count(program::inline_thread_graphs(block).ops, code, &program::Op::code) > 0;
}

} // namespace espalier::problems::mugraph
