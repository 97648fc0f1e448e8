#include "espalier/problems/mugraph/mugraph.hpp"

#include "explorer.hpp"
#include "instantiate.hpp"
#include "shrink.hpp"
#include "verifier.hpp"

#include "espalier/base/hash.hpp"
#include "espalier/base/json.hpp"
#include "espalier/cost/roofline.hpp"
#include "espalier/program/text.hpp"

#include <algorithm>
#include <cmath>

namespace espalier::problems::mugraph {
namespace {

constexpr base::ReasonId refuted{0};   ///< different on random inputs
constexpr base::ReasonId undecided{1}; ///< could not be evaluated

constexpr std::array<std::string_view, reject_count> reject_names{
    "shape",      "loop side", "expression", "undefined", "equal value",
    "unconsumed", "memory",    "last op",    "no grid",   "no loop"};

/// Ops whose functions do not occur in the program cannot help: functions never disappear under the axioms.
void drop_useless_ops(Setup& setup) {
    if (setup.prune == config::Prune::none) return;
    search::Notes notes{search::ProblemInfo{}};
    Explorer const explorer(setup, notes);
    auto const& expressions = explorer.expressions();
    auto const is_useless = [&](SearchOp const& op) {
        using enum program::OpCode;
        using program::Function;
        auto const is_norm = op.code == program::OpCode::rms || op.code == rms_norm || op.code == accumulate_rms;
        if (is_norm) return !expressions.occurs(Function::rms);
        if (op.code == layer_norm) return !expressions.occurs(Function::deviation);
        if (op.code == add || op.code == sub || op.code == concat_matmul) return expressions.max_monomials() < 2;
        auto const scalar = op.row().field.scalar;
        auto const is_function =
            program::is_pointwise(op.row()) &&
            (scalar == field::Scalar::function || scalar == field::Scalar::exp || scalar == field::Scalar::sqrt);
        return is_function && !expressions.occurs(static_cast<Function>(op.row().field.tag));
    };
    std::erase_if(setup.space.kernel_ops, is_useless);
    std::erase_if(setup.space.block_ops, is_useless);
    std::erase_if(setup.space.unlooped_block_ops, is_useless);
}

/// The largest float that is not above a cost: a bound may not round up.
float lower_float(double us) {
    auto const near = static_cast<float>(us);
    return static_cast<double>(near) > us ? std::nextafter(near, 0.0f) : near;
}

} // namespace

struct Mugraph::Shared {
    config::HardwareConfig hardware;
    Setup setup;
    Verifier verifier;

    Shared(config::MugraphConfig const& config, config::VerifyConfig const& verify, std::uint64_t seed)
        : hardware(config.hardware), setup{Target(config.program), make_space(config), config.prune, seed, &hardware},
          verifier(setup.target, setup.space, verify, seed) {
        setup.launch_us = cost::lower_bound_us(0, 1, 0, hardware);
        // a float has 24 bits: the bound of a partial program must not round above the cost of a complete one
        setup.least_us = 0.999999 * cost::lower_bound_us(0, 0, cost::compulsory_bytes(setup.target.graph), hardware);
        drop_useless_ops(setup);
    }
};

struct Mugraph::Workspace::Impl {
    Impl(Shared const& shared, search::Notes& notes_of_thread)
        : explorer(shared.setup, notes_of_thread), notes(&notes_of_thread) {}

    Explorer explorer;
    FormMemo forms;
    search::Notes* notes;
    base::Bytes current; ///< packed: the node that `outputs` is about
    std::optional<std::vector<int>> outputs;
};

Mugraph::Workspace::Workspace(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Mugraph::Workspace::Workspace(Workspace&&) noexcept = default;
Mugraph::Workspace::~Workspace() = default;

Mugraph::Mugraph(config::MugraphConfig const& config, config::VerifyConfig const& verify, std::uint64_t seed)
    : shared_(std::make_shared<Shared>(config, verify, seed)) {}

search::ProblemInfo Mugraph::info() const {
    search::ProblemInfo info;
    info.kind = "mugraph";
    info.reasons = {"refuted", "undecided"};
    info.counters = {{"candidates_examined", search::CounterKind::sum},
                     {"expressions", search::CounterKind::max},
                     {"solver_queries", search::CounterKind::sum},
                     {"solver_us", search::CounterKind::sum},
                     {"refuted on the second shape", search::CounterKind::sum}};
    for (auto const name : reject_names) {
        info.counters.push_back({std::string(name), search::CounterKind::sum});
        info.parts.emplace_back(name);
    }
    info.parts.emplace_back("ops kept");
    return info;
}

std::vector<Node> Mugraph::roots() const { return {Node{}}; }

Mugraph::Workspace Mugraph::make_workspace(search::Notes& notes) const {
    return Workspace(std::make_unique<Workspace::Impl>(*shared_, notes));
}

search::Assessment Mugraph::assess(Node const& node, Workspace& workspace) const {
    if (node.is_sized) return search::is_candidate();
    auto& explorer = workspace->explorer;
    explorer.replay(node);
    workspace->outputs = explorer.matched_outputs();
    workspace->current.clear();
    mugraph::pack(node, workspace->current);
    if (!workspace->outputs) return search::expand_it();
    if (!shared_->verifier.holds_on_second_shape(node, *workspace->outputs, explorer)) {
        workspace->notes->add(static_cast<std::size_t>(Count::forms_tried));
        workspace->outputs.reset();
    }
    return search::expand_it();
}

void Mugraph::expand(Node const& node, Workspace& workspace, search::Children<Node>& children) const {
    auto const parent = node; // the stack that holds it may move
    base::Bytes packed;
    mugraph::pack(parent, packed);
    if (packed != workspace->current) (void)assess(parent, workspace);
    auto& explorer = workspace->explorer;
    if (!workspace->outputs) return explorer.expand(parent, children);
    std::optional<Node> best;
    for (auto const& schedule : explorer.schedules_of(parent)) {
        auto child = parent;
        child.is_sized = true;
        child.sizes = schedule.kernels;
        auto const graph =
            program_of(shared_->setup.target, shared_->setup.space, parent, schedule.sizes, *workspace->outputs);
        child.bound_us = lower_float(cost::estimate(graph, shared_->hardware).us);
        if (!shared_->setup.space.keeps_best_schedule)
            children.push(child);
        else if (!best || child.bound_us < best->bound_us)
            best = child;
    }
    if (best) children.push(*best);
}

std::vector<search::VerifyOutcome<Mugraph::Result>> Mugraph::verify(std::span<Node const> nodes,
                                                                    Workspace& workspace) const {
    std::vector<search::VerifyOutcome<Result>> out;
    for (auto const& node : nodes) {
        auto const verdict = shared_->verifier.verify(node, workspace->explorer, workspace->forms);
        search::VerifyOutcome<Result> outcome;
        outcome.reason = verdict.is_decided ? refuted : undecided;
        if (verdict.is_equal) {
            Result result{verdict.graph};
            result.cost_us = cost::estimate(verdict.graph, shared_->hardware).us;
            result.error_bound = verdict.error_bound;
            result.is_proved = verdict.is_proved;
            result.is_full_scope = verdict.is_full_scope;
            result.sampled_elements = verdict.sampled_elements;
            result.form = program::form_key(verdict.graph);
            outcome.result = std::move(result);
        }
        out.push_back(std::move(outcome));
    }
    workspace->current.clear();
    return out;
}

search::ResultRecord Mugraph::record(Result const& result) const {
    search::ResultRecord record;
    record.key = program::canonical_key(result.graph);
    record.cost = result.cost_us;
    record.error_bound = result.is_proved ? 0 : result.error_bound;
    record.verification = result.is_proved ? search::Verification::proved : search::Verification::random;
    record.text = program::to_text(result.graph);
    base::Json const details{{"scope", result.is_full_scope ? "full" : "shrunk"},
                             {"sampled_elements", result.sampled_elements},
                             {"form", result.form},
                             {"tested_error_bound", result.error_bound}};
    auto const text = details.dump();
    auto const bytes = std::as_bytes(std::span(text));
    record.payload.assign(bytes.begin(), bytes.end());
    return record;
}

} // namespace espalier::problems::mugraph
