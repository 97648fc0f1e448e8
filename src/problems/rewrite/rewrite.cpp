#include "espalier/problems/rewrite/rewrite.hpp"

#include "measurement.hpp"

#include "espalier/base/contract.hpp"
#include "espalier/base/error.hpp"
#include "espalier/base/hash.hpp"
#include "espalier/model/onnx.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace espalier::problems::rewrite {
namespace {

enum class Reason : std::uint16_t { tried_before, does_not_fit, differs };
constexpr std::array<std::string_view, 3> reason_names{"tried in an earlier stage", "does not fit its part",
                                                       "differs in float64"};
search::Assessment prune(Reason reason) { return search::prune_it(base::ReasonId{static_cast<std::uint16_t>(reason)}); }

/// Counters; after them, one for each op that is opaque.
enum class Count : std::uint8_t { nodes, understood, opaque, parts, families, patterns, estimate_ns, uses };
constexpr std::array<std::string_view, 8> count_names{
    "nodes of the model", "nodes understood",          "nodes opaque",  "parts", "different parts",
    "rules to try",       "estimated ns of the input", "uses of a rule"};

/// What a stage tells the next one.
enum class Told : std::uint8_t { new_graph, kept_graph, variant };

void put_choices(base::ByteWriter& writer, std::vector<Choice> const& choices) {
    writer.put(static_cast<std::uint32_t>(choices.size()));
    for (auto const& choice : choices) {
        writer.put(choice.family);
        writer.put(static_cast<std::uint32_t>(choice.path.size()));
        for (auto const& use : choice.path) {
            writer.put(use.pattern);
            writer.put(use.op);
            writer.put(use.match);
        }
    }
}
std::vector<Choice> get_choices(base::ByteReader& reader) {
    std::vector<Choice> out;
    for (auto left = reader.get<std::uint32_t>(); left > 0; --left) {
        Choice choice{reader.get<std::uint32_t>(), {}};
        for (auto uses = reader.get<std::uint32_t>(); uses > 0; --uses) {
            auto const pattern = reader.get<std::uint32_t>();
            auto const op = reader.get<std::uint16_t>();
            choice.path.push_back({pattern, op, reader.get<std::uint16_t>()});
        }
        out.push_back(std::move(choice));
    }
    return out;
}

/// Of a stage's graphs the ones of a family, cheapest first; what was tried before is told apart.
struct Known {
    Rewrite::Node node;
    bool is_new = true;
};
using Families = std::map<std::uint32_t, std::vector<Known>>;

bool is_before(Known const& a, Known const& b) {
    return std::tie(a.node.cost, a.node.choices) < std::tie(b.node.cost, b.node.choices);
}

bool is_original(Known const& one) { return one.node.choices.front().path.empty(); }

/// As few as are wanted, none of them much dearer than the cheapest.
void cut_off(std::vector<Known>& list, RewriteConfig const& config) {
    std::ranges::sort(list, is_before);
    auto const most = list.front().node.cost * config.alpha;
    std::size_t kept = 0;
    std::erase_if(list, [&](Known const& one) {
        if (is_original(one)) return false;
        return one.node.cost > most || ++kept > static_cast<std::size_t>(config.max_states);
    });
}

} // namespace

struct Rewrite::Workspace::Impl {
    search::Notes* notes;
    Folder folder;
};
Rewrite::Workspace::Workspace(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Rewrite::Workspace::Workspace(Workspace&&) noexcept = default;
Rewrite::Workspace::~Workspace() = default;

base::Bytes pack(Variant const& variant) {
    base::Bytes out;
    base::ByteWriter writer(out);
    writer.put(variant.is_whole);
    put_choices(writer, variant.choices);
    writer.put(static_cast<std::uint64_t>(variant.rewrites));
    writer.put(static_cast<std::uint64_t>(variant.nodes));
    for (auto const number : {variant.before_ms, variant.after_ms, variant.noise, variant.error, variant.backend_error})
        writer.put(number);
    writer.put_text(variant.backend);
    writer.put_text(variant.problem);
    writer.put(static_cast<std::uint32_t>(variant.steps.size()));
    for (auto const& step : variant.steps) writer.put_text(step);
    return out;
}

Variant unpack_variant(std::span<std::byte const> bytes) {
    base::ByteReader reader(bytes);
    Variant out{.is_whole = reader.get<bool>()};
    out.choices = get_choices(reader);
    out.rewrites = reader.get<std::uint64_t>();
    out.nodes = reader.get<std::uint64_t>();
    for (auto* const number : {&out.before_ms, &out.after_ms, &out.noise, &out.error, &out.backend_error})
        *number = reader.get<double>();
    out.backend = reader.get_text();
    out.problem = reader.get_text();
    for (auto steps = reader.get<std::uint32_t>(); steps > 0; --steps) out.steps.push_back(reader.get_text());
    return out;
}

std::uint64_t key_of(Variant const& variant) {
    base::Bytes bytes;
    base::ByteWriter writer(bytes);
    writer.put(variant.is_whole);
    put_choices(writer, variant.choices);
    return base::hash_bytes(bytes);
}

Rewrite::Rewrite(RewriteConfig const& config, std::uint64_t seed)
    : plan_(std::make_shared<Plan const>(config)), seed_(seed) {}

search::ProblemInfo Rewrite::info() const {
    search::ProblemInfo info{.kind = "rewrite", .reasons = {}, .counters = {}, .is_counting = true};
    for (auto const name : reason_names) info.reasons.emplace_back(name);
    for (auto const name : count_names) info.counters.push_back({std::string(name), search::CounterKind::sum});
    for (auto const& [op, count] : plan_->parts().understood.opaque_ops)
        info.counters.push_back({"opaque " + op, search::CounterKind::sum});
    info.stages = plan_->config().max_rewrites + 3;
    info.stage_names.emplace_back("the model");
    for (int i = 1; i <= plan_->config().max_rewrites; ++i)
        info.stage_names.push_back(fmt::format("{} rewrite{}", i, i == 1 ? "" : "s"));
    info.stage_names.emplace_back("the best of each part");
    info.stage_names.emplace_back("the whole model");
    return info;
}

Rewrite::Workspace Rewrite::make_workspace(search::Notes& notes) const {
    return Workspace(std::make_unique<Workspace::Impl>(Workspace::Impl{&notes, {}}));
}

search::Assessment Rewrite::assess(Node const& node, Workspace& workspace) const {
    if (node.kind == NodeKind::variant || node.kind == NodeKind::whole) return search::is_candidate();
    if (node.kind != NodeKind::kept) return search::expand_it();
    emit_graph(node, false, 0, workspace);
    return prune(Reason::tried_before);
}

void Rewrite::expand(Node const& node, Workspace& workspace, search::Children<Node>&) const {
    auto& notes = *workspace->notes;
    if (node.kind == NodeKind::start) {
        auto const& told = plan_->parts().understood;
        auto const add = [&](Count count, std::size_t n) { notes.add(static_cast<std::size_t>(count), n); };
        add(Count::nodes, told.nodes);
        add(Count::understood, told.understood);
        add(Count::opaque, told.opaque);
        add(Count::parts, plan_->parts().parts.size());
        add(Count::families, plan_->families().size());
        add(Count::patterns, plan_->rules().patterns().size());
        add(Count::estimate_ns, static_cast<std::size_t>(1e6 * plan_->input_estimate()));
        auto counter = count_names.size();
        for (auto const& [op, count] : told.opaque_ops) notes.add(counter++, count);
        for (std::uint32_t family = 0; family < plan_->families().size(); ++family) {
            auto const& graph = plan_->first_of(family);
            emit_graph({NodeKind::graph, 0, plan_->estimated_ms(graph), {{family, {}}}}, true, rewrite::key_of(graph),
                       workspace);
        }
        return;
    }
    auto const& choice = node.choices.front();
    auto const graph = plan_->follow(plan_->first_of(choice.family), choice.path, workspace->folder);
    ESP_ASSERT(graph.has_value());
    emit_graph(node, false, rewrite::key_of(*graph), workspace);
    plan_->for_each_child(*graph, workspace->folder, [&](Use const& use, Graph child) {
        notes.stop().check();
        notes.add(static_cast<std::size_t>(Count::uses));
        auto path = choice.path;
        path.push_back(use);
        emit_graph({NodeKind::graph, node.stage, plan_->estimated_ms(child), {{choice.family, std::move(path)}}}, true,
                   rewrite::key_of(child), workspace);
    });
}

/// `key` 0: that of the node is not at hand.
void Rewrite::emit_graph(Node const& node, bool is_new, std::uint64_t key, Workspace& workspace) const {
    auto const& choice = node.choices.front();
    if (key == 0) {
        auto const graph = plan_->follow(plan_->first_of(choice.family), choice.path, workspace->folder);
        ESP_ASSERT(graph.has_value());
        key = rewrite::key_of(*graph);
    }
    base::Bytes bytes;
    base::ByteWriter writer(bytes);
    writer.put(is_new ? Told::new_graph : Told::kept_graph);
    pack(node, bytes);
    workspace->notes->emit(base::hash_combine(key, choice.family), std::move(bytes));
}

std::vector<Rewrite::Node> Rewrite::next_stage(int stage, std::vector<search::EmitGroup> const& groups) const {
    Families families;
    std::vector<Variant> told;
    for (auto const& group : groups) {
        std::optional<Known> best;
        for (auto const& value : group.values) {
            base::ByteReader reader(value);
            auto const what = reader.get<Told>();
            auto const rest = std::span(value).subspan(1);
            if (what == Told::variant) {
                told.push_back(unpack_variant(rest));
                continue;
            }
            Known one{unpack(rest), what == Told::new_graph};
            auto const is_new = one.is_new && (!best || best->is_new);
            if (!best || is_original(one) || (!is_original(*best) && is_before(one, *best))) best = one;
            best->is_new = is_new; // a graph that was tried in any way is not tried again
        }
        if (best) families[best->node.choices.front().family].push_back(*best);
    }
    if (!told.empty()) return wholes(told);
    std::vector<Node> all, kept;
    bool has_new = false;
    for (auto& [family, list] : families) {
        cut_off(list, plan_->config());
        for (auto& one : list) {
            one.node.kind = one.is_new ? NodeKind::graph : NodeKind::kept;
            one.node.stage = stage + 1;
            has_new = has_new || one.is_new;
            all.push_back(one.node);
        }
    }
    if (has_new && stage < plan_->config().max_rewrites) return all;
    return variants(all, stage + 1);
}

/// Those that are not dearer than what they replace, by an estimate that is not that good.
std::vector<Rewrite::Node> Rewrite::variants(std::vector<Node> const& all, int stage) const {
    std::map<std::uint32_t, std::size_t> taken;
    std::map<std::uint32_t, double> before;
    for (auto const& node : all)
        if (node.choices.front().path.empty()) before[node.choices.front().family] = node.cost;
    std::vector<Node> out;
    for (auto node : all) { // cheapest first in each family
        auto const& choice = node.choices.front();
        if (choice.path.empty() || node.cost > 1.02 * before.at(choice.family)) continue;
        if (++taken[choice.family] > static_cast<std::size_t>(plan_->config().variants)) continue;
        node.kind = NodeKind::variant;
        node.stage = stage;
        out.push_back(std::move(node));
    }
    return out;
}

/// With the best of each family; where this is measured, also with those alone that gain much.
std::vector<Rewrite::Node> Rewrite::wholes(std::vector<Variant> const& measured) const {
    std::map<std::uint32_t, Variant> best;
    for (auto const& variant : measured) {
        if (variant.is_whole || !variant.is_better()) continue;
        auto const family = variant.choices.front().family;
        auto const ratio = [](Variant const& one) { return one.after_ms / one.before_ms; };
        auto const found = best.find(family);
        if (found == best.end() ||
            std::tuple(ratio(variant), variant.choices) < std::tuple(ratio(found->second), found->second.choices))
            best[family] = variant;
    }
    std::vector<Node> out;
    for (double const most : {1.0, 0.9, 0.75}) {
        Node node{.kind = NodeKind::whole, .stage = 0, .cost = 0, .choices = {}};
        for (auto const& [family, variant] : best)
            if (variant.after_ms < most * variant.before_ms) node.choices.push_back(variant.choices.front());
        auto const is_known = std::ranges::any_of(out, [&](Node const& one) { return one.choices == node.choices; });
        if (!node.choices.empty() && !is_known) out.push_back(std::move(node));
        if (!plan_->config().is_measured()) break;
    }
    return out;
}

std::vector<search::VerifyOutcome<Variant>> Rewrite::verify(std::span<Node const> nodes, Workspace& workspace) const {
    std::vector<search::VerifyOutcome<Variant>> out;
    for (auto const& node : nodes) out.push_back(verified(node, workspace));
    return out;
}

search::VerifyOutcome<Variant> Rewrite::verified(Node const& node, Workspace& workspace) const {
    auto const refuse = [](Reason reason) {
        return search::VerifyOutcome<Variant>{std::nullopt, base::ReasonId{static_cast<std::uint16_t>(reason)}};
    };
    auto const& stop = workspace->notes->stop();
    Variant out{.is_whole = node.kind == NodeKind::whole, .choices = node.choices};
    for (auto const& choice : node.choices)
        for (auto const& use : choice.path) out.steps.push_back(step_text(*plan_, choice.family, use));
    if (out.is_whole) {
        auto whole = plan_->whole(node.choices, workspace->folder, {.seed = seed_}, stop);
        if (!whole.problem.empty()) return refuse(Reason::differs);
        if (whole.parts == 0) return refuse(Reason::does_not_fit);
        out.rewrites = whole.rewrites;
        out.nodes = model::count_nodes(whole.model);
        out.error = whole.error;
        out.before_ms = plan_->input_estimate();
        out.after_ms = whole.estimated_ms;
        return {out};
    }
    auto const& choice = node.choices.front();
    auto const& before = plan_->first_of(choice.family);
    auto const after = plan_->follow(before, choice.path, workspace->folder);
    if (!after) return refuse(Reason::does_not_fit);
    auto const compared = compare(before, *after, {.seed = seed_}, stop);
    if (!compared.is_equal) return refuse(Reason::differs);
    out.rewrites = choice.path.size();
    out.nodes = after->ops.size();
    out.error = compared.error;
    out.before_ms = plan_->estimated_ms(before);
    out.after_ms = plan_->estimated_ms(*after);
    return {out};
}

search::ResultRecord Rewrite::record(Variant const& variant) const {
    return {.key = rewrite::key_of(variant),
            .cost = variant.after_ms,
            .error_bound = 0,
            .verification = plan_->config().unproved ? search::Verification::random : search::Verification::proved,
            .text = variant_text(variant),
            .payload = rewrite::pack(variant)};
}

search::ResultRecord Rewrite::measure(search::ResultRecord const& record, Workspace& workspace) const {
    if (!plan_->config().is_measured()) return record;
    auto const variant = unpack_variant(record.payload);
    return this->record(measured_on_backend(*plan_, variant, workspace->folder, seed_, workspace->notes->stop()));
}

void Rewrite::measured(search::ResultRecord const& record, Workspace& workspace) const {
    auto const variant = unpack_variant(record.payload);
    if (variant.is_whole) return;
    base::Bytes bytes;
    base::ByteWriter writer(bytes);
    writer.put(Told::variant);
    writer.put_raw(record.payload);
    workspace->notes->emit(record.key, std::move(bytes));
}

void Rewrite::pack(Node const& node, base::Bytes& out) const {
    base::ByteWriter writer(out);
    writer.put(node.kind);
    writer.put(node.stage);
    writer.put(node.cost);
    put_choices(writer, node.choices);
}

Rewrite::Node Rewrite::unpack(std::span<std::byte const> bytes) const {
    base::ByteReader reader(bytes);
    Node node{.kind = reader.get<NodeKind>()};
    if (node.kind > NodeKind::whole) throw base::SystemError("a packed node of kind {}", static_cast<int>(node.kind));
    node.stage = reader.get<std::int32_t>();
    node.cost = reader.get<double>();
    node.choices = get_choices(reader);
    for (auto const& choice : node.choices)
        if (choice.family >= plan_->families().size())
            throw base::SystemError("a packed node of part {}", choice.family);
    return node;
}

} // namespace espalier::problems::rewrite
