#include "espalier/problems/mugraph/mugraph.hpp"

#include "explorer.hpp"
#include "fusion.hpp"
#include "instantiate.hpp"
#include "readings.hpp"
#include "shrink.hpp"
#include "supplies.hpp"
#include "verifier.hpp"

#include "espalier/base/hash.hpp"
#include "espalier/base/json.hpp"
#include "espalier/base/key_error.hpp"
#include "espalier/cost/roofline.hpp"
#include "espalier/program/text.hpp"

#include <algorithm>
#include <cmath>

namespace espalier::problems::mugraph {
namespace {

/// Why verification refuses a program, by Judgement; `equal` is not a refusal.
struct Refusal {
    Judgement judgement;
    std::string_view reason;
};
constexpr std::array<Refusal, 3> refusals{
    {{Judgement::refuted, "refuted"},                        // different on random inputs
     {Judgement::undecided, "undecided"},                    // could not be evaluated, or neither proved nor bounded
     {Judgement::refuted_in_floats, "refuted in float64"}}}; // not finite where the input is, or another value

base::ReasonId reason_of(Judgement judgement) {
    auto const at = std::ranges::find(refusals, judgement, &Refusal::judgement);
    return base::ReasonId{static_cast<std::uint16_t>(at - refusals.begin())};
}

/// Everything that a search of the program could stumble over, found before it starts.
void check_program(Setup const& setup) {
    search::Notes notes{search::ProblemInfo{}};
    try {
        Explorer(setup, notes).check_program();
    } catch (base::KeyError const&) {
        throw;
    } catch (base::InputError const& error) {
        throw base::KeyError("problem.program", error.what());
    }
}

/// Ops whose functions do not occur in the program cannot help: functions never disappear under the axioms. No more can
/// those that add where nothing is added.
void drop_useless_ops(Setup& setup) {
    if (setup.prune == Prune::none) return;
    search::Notes notes{search::ProblemInfo{}};
    Explorer const explorer(setup, notes);
    auto const& expressions = explorer.expressions();
    auto const is_useless = [&](SearchOp const& op) {
        auto const made_of = supply_of(op, {});
        auto const occurs = [&](program::OpCode function) { return expressions.occurs(function); };
        return (made_of.has_sums && expressions.max_monomials() < 2) || !std::ranges::all_of(made_of.functions, occurs);
    };
    std::erase_if(setup.space.kernel_ops, is_useless);
    std::erase_if(setup.space.block_ops, is_useless);
    std::erase_if(setup.space.unlooped_block_ops, is_useless);
}

/// Whether a program keeps to the limits of an earlier stage too.
bool is_of_earlier_stage(Space const& space, Node const& node) {
    auto const size = size_of(node);
    return std::any_of(space.stages.begin(), space.stages.begin() + node.stage, [&](Limits const& limits) {
        return size.graph_kernels <= limits.graph_kernels && size.kernel_ops <= limits.kernel_ops &&
               size.block_ops <= limits.block_ops && limits.spare_ops < 0;
    });
}

/// The largest float that is not above a cost: a bound may not round up.
float lower_float(double us) {
    auto const near = static_cast<float>(us);
    return static_cast<double>(near) > us ? std::nextafter(near, 0.0f) : near;
}

} // namespace

struct Mugraph::Shared {
    config::HardwareConfig hardware;
    smt::Answers answers;
    Setup setup;
    Verifier verifier;

    Shared(MugraphConfig const& config, config::VerifyConfig const& verify, std::uint64_t seed)
        : hardware(config.hardware),
          setup{searched_program(config), make_space(config), config.prune, seed, &hardware, &answers},
          verifier(setup.target, setup.space, verify, seed) {
        // a float has 24 bits: the bound of a partial program must not round above the cost of a complete one
        constexpr double below = 0.999999;
        setup.launch_us = below * cost::lower_bound_us(0, 1, 0, hardware);
        setup.least_us = below * cost::lower_bound_us(0, 0, cost::compulsory_bytes(setup.target.input), hardware);
        if (has_too_many_readings(setup.target)) setup.prune = Prune::none;
        check_program(setup);
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
    std::optional<program::TensorIds> outputs;
};

Mugraph::Workspace::Workspace(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Mugraph::Workspace::Workspace(Workspace&&) noexcept = default;
Mugraph::Workspace::~Workspace() = default;

Mugraph::Mugraph(MugraphConfig const& config, config::VerifyConfig const& verify, std::uint64_t seed)
    : shared_(std::make_shared<Shared>(config, verify, seed)) {}

search::ProblemInfo Mugraph::info() const {
    search::ProblemInfo info;
    info.kind = "mugraph";
    for (auto const& refusal : refusals) info.reasons.emplace_back(refusal.reason);
    info.counters = {{"candidates_examined", search::CounterKind::sum},
                     {"expressions", search::CounterKind::max},
                     {"solver_queries", search::CounterKind::sum},
                     {"solver_us", search::CounterKind::sum},
                     {"refuted on the second shape", search::CounterKind::sum},
                     {"no_second_shape", search::CounterKind::sum},
                     {"stage", search::CounterKind::max}};
    info.stages = static_cast<int>(shared_->setup.space.stages.size());
    for (auto const& limits : shared_->setup.space.stages) info.stage_names.push_back(words_of(limits));
    for (auto const& words : reject_words) {
        info.counters.push_back({std::string(words.name), search::CounterKind::sum});
        info.parts.emplace_back(words.name);
    }
    info.parts.emplace_back("ops kept");
    return info;
}

std::vector<Node> Mugraph::roots() const {
    std::vector<Node> out{Node{}};
    search::Notes notes{search::ProblemInfo{}};
    if (shared_->setup.space.fuses_in_order)
        for (auto const& node : fused_in_order(shared_->setup, notes)) out.push_back(node);
    return out;
}

std::vector<Node> Mugraph::next_stage(int stage, std::vector<search::EmitGroup> const&) const {
    if (stage + 1 >= info().stages) return {};
    Node root;
    root.stage = static_cast<std::uint8_t>(stage + 1);
    return {root};
}

Mugraph::Workspace Mugraph::make_workspace(search::Notes& notes) const {
    return Workspace(std::make_unique<Workspace::Impl>(*shared_, notes));
}

search::Assessment Mugraph::assess(Node const& node, Workspace& workspace) const {
    if (node.is_sized) return search::is_candidate();
    auto& explorer = workspace->explorer;
    if (node.count == 0) workspace->notes->raise(static_cast<std::size_t>(Count::stage), node.stage);
    explorer.replay(node);
    workspace->outputs = explorer.matched_outputs();
    workspace->current.clear();
    mugraph::pack(node, workspace->current);
    if (!workspace->outputs) return search::expand_it();
    auto const second = shared_->verifier.try_second_shape(node, *workspace->outputs, explorer);
    if (second == SecondShape::none) workspace->notes->add(static_cast<std::size_t>(Count::no_second_shape));
    if (second == SecondShape::refuted) {
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
    if (is_of_earlier_stage(shared_->setup.space, parent)) return; // and was found there
    std::optional<std::pair<double, Node>> best;
    for (auto const& schedule : explorer.schedules_of(parent)) {
        workspace->notes->stop().check();
        auto child = parent;
        child.is_sized = true;
        child.sizes = schedule.kernels;
        auto const graph =
            program_of(shared_->setup.target, shared_->setup.space, parent, schedule.sizes, *workspace->outputs);
        auto const us = cost::estimate(program::with_thread_graphs(graph), shared_->hardware).us;
        child.bound_us = lower_float(us);
        if (!shared_->setup.space.keeps_best_schedule)
            children.push(child);
        else if (!best || us < best->first)
            best = {us, child};
    }
    if (best) children.push(best->second);
}

std::vector<search::VerifyOutcome<Mugraph::Result>> Mugraph::verify(std::span<Node const> nodes,
                                                                    Workspace& workspace) const {
    std::vector<search::VerifyOutcome<Result>> out;
    for (auto const& verdict : shared_->verifier.verify_all(nodes, workspace->explorer, workspace->forms)) {
        search::VerifyOutcome<Result> outcome;
        if (verdict.judgement != Judgement::equal) {
            outcome.reason = reason_of(verdict.judgement);
        } else {
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
