#include "espalier/problems/mutation/mutation.hpp"

#include "espalier/base/crc.hpp"
#include "espalier/base/error.hpp"
#include "espalier/base/hash.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace espalier::problems::mutation {
namespace {

/// What becomes of nodes that are no results.
enum class Reason : std::uint16_t { out_of_reach, counted, equal_nowhere };
constexpr std::array<std::string_view, 3> reason_names{"the output's shape is out of reach", "programs counted",
                                                       "equal nowhere"};
search::Assessment prune(Reason reason) { return search::prune_it(base::ReasonId{static_cast<std::uint16_t>(reason)}); }

/// Of chains that go together: ways of every length of the whole, the op in the middle included.
std::vector<std::uint64_t> ways_together(std::vector<std::uint64_t> const& a, std::vector<std::uint64_t> const& b) {
    std::vector<std::uint64_t> out(a.size(), 0);
    for (std::size_t i = 0; i < a.size(); ++i)
        for (std::size_t j = 0; i + j < a.size(); ++j) out[i + j] += a[i] * b[j];
    return out;
}

/// Along one axis of a result: a window, and the size that it gives.
struct Fit {
    Window window;
    std::int32_t size = 1;
};
std::vector<Fit> fits(std::int32_t image, std::int32_t kernel) {
    std::vector<Fit> out;
    for (auto const& window : mutant_windows())
        if (auto const size = output_size(image, kernel, window)) out.push_back({window, *size});
    return out;
}

} // namespace

search::ProblemInfo Mutation::info() const {
    search::ProblemInfo info{.kind = "mutation", .reasons = {}, .counters = {}, .stages = 2};
    for (auto const name : reason_names) info.reasons.emplace_back(name);
    info.counters.push_back({"functions", search::CounterKind::sum});
    for (int i = 1; i <= mutants_->max_ops(); ++i)
        info.counters.push_back({fmt::format("programs of {} op{}", i, i == 1 ? "" : "s"), search::CounterKind::sum});
    info.stage_names = {"all programs", "functions"};
    return info;
}

search::Assessment Mutation::assess(Node const& node, Workspace& workspace) const {
    if (node.kind == NodeKind::middle) {
        count_programs(node.mutant, *workspace.notes);
        return prune(Reason::counted);
    }
    if (node.kind != NodeKind::function) return search::expand_it();
    auto const values = mutants_->values(node.mutant);
    auto const& expected = mutants_->original_values();
    for (std::size_t i = 0; i < values.size(); ++i)
        if (values[i] == expected[i]) return search::is_candidate();
    return prune(Reason::equal_nowhere);
}

void Mutation::expand(Node const& node, Workspace& workspace, search::Children<Node>& children) const {
    auto const parent = node; // the stack that holds it may move
    if (parent.kind == NodeKind::root) return expand_root(children, *workspace.notes);
    if (parent.kind == NodeKind::operands) return expand_operands(parent.mutant, children);
    expand_bucket(parent, *workspace.notes, children);
}

/// Operands whose chains leave an op for the middle.
void Mutation::expand_root(search::Children<Node>& children, search::Notes& notes) const {
    auto const most = static_cast<std::size_t>(mutants_->max_ops()) - 1;
    auto const is_conv = mutants_->original().compute == Compute::conv;
    for (std::size_t const swap : {0u, 1u})
        for (auto const& first : mutants_->of_input(swap).all()) {
            notes.stop().check();
            for (auto const& second : mutants_->of_input(1 - swap).all()) {
                auto const& a = first.arrangement.sizes;
                auto const& b = second.arrangement.sizes;
                if (first.moves.size() + second.moves.size() > most || a[1] != b[is_conv ? 1 : 0]) continue;
                children.push(Node{.kind = NodeKind::operands,
                                   .mutant = {swap == 1, {first.moves, second.moves}, {}, {}},
                                   .bucket = {}});
            }
        }
}

void Mutation::expand_operands(Mutant const& mutant, search::Children<Node>& children) const {
    auto const program = mutants_->middle(mutant);
    auto const& [a, b] = program.inputs;
    auto const push = [&](Sizes const& sizes, Windows const& windows) {
        if (mutants_->of_output().of_sizes(sizes).empty()) return;
        auto child = mutant;
        child.windows = windows;
        children.push(Node{.kind = NodeKind::middle, .mutant = std::move(child), .bucket = {}});
    };
    if (program.compute == Compute::matmul) return push({a[0], b[1]}, {});
    for (auto const& h : fits(a[2], b[2]))
        for (auto const& w : fits(a[3], b[3])) push({a[0], b[0], h.size, w.size}, {h.window, w.window});
}

/// Every rearrangement of the result that has the output's shape.
void Mutation::count_programs(Mutant const& mutant, search::Notes& notes) const {
    auto const made = mutants_->middle_values(mutant);
    auto const before = ways_together(mutants_->chain(mutant, 0).ways, mutants_->chain(mutant, 1).ways);
    auto const sizes = mutants_->middle(mutant).output().value();
    std::vector<std::uint64_t> values(made.size());
    for (auto const place : mutants_->of_output().of_sizes(sizes)) {
        auto const& after = mutants_->of_output().all()[place];
        auto const ways = ways_together(before, after.ways);
        auto const programs = std::accumulate(ways.begin(), ways.end(), std::uint64_t{0});
        if (programs == 0) continue;
        for (std::size_t i = 0; i < ways.size(); ++i) notes.add(programs_counter + i, ways[i]);
        for (std::size_t i = 0; i < made.size(); ++i) values[after.arrangement.from[i]] = made[i];
        auto whole = mutant;
        whole.after = after.moves;
        base::Bytes bytes;
        base::ByteWriter writer(bytes);
        writer.put(static_cast<std::uint8_t>(whole.length())); // first, so that the shortest is the first of its group
        writer.put(programs);
        mutation::pack(whole, writer);
        notes.emit(base::hash_bytes(std::as_bytes(std::span(values))), std::move(bytes));
    }
}

void Mutation::expand_bucket(Node const& node, search::Notes& notes, search::Children<Node>& children) const {
    for (auto const& group : notes.join(node.bucket)) {
        notes.stop().check();
        Node function{.kind = NodeKind::function, .mutant = {}, .bucket = {}};
        for (auto const& value : group.values) {
            base::ByteReader reader(value);
            (void)reader.get<std::uint8_t>();
            function.programs += reader.get<std::uint64_t>();
            if (&value == &group.values.front()) function.mutant = unpack_mutant(reader);
        }
        notes.add(functions_counter);
        children.push(std::move(function));
    }
}

std::vector<search::VerifyOutcome<Partial>> Mutation::verify(std::span<Node const> nodes, Workspace& workspace) const {
    std::vector<search::VerifyOutcome<Partial>> out;
    for (auto const& node : nodes) {
        workspace.notes->stop().check();
        auto const mask = mutants_->equal_elements(node.mutant);
        auto const equal = static_cast<std::uint64_t>(std::ranges::count(mask, 1));
        search::VerifyOutcome<Partial> outcome{
            .result = {}, .reason = base::ReasonId{static_cast<std::uint16_t>(Reason::equal_nowhere)}};
        if (equal > 0)
            outcome.result =
                Partial{node.mutant, node.programs, equal, mask.size(), base::crc32(std::as_bytes(std::span(mask)))};
        out.push_back(std::move(outcome));
    }
    return out;
}

search::ResultRecord Mutation::record(Partial const& partial) const {
    auto text = mutants_->text(partial.mutant) + "\n";
    auto const is_whole = partial.equal == partial.elements;
    search::ResultRecord record{.key = base::hash_text(text),
                                .verification =
                                    is_whole ? search::Verification::counted : search::Verification::partial,
                                .text = std::move(text),
                                .payload = {}};
    base::ByteWriter writer(record.payload);
    mutation::pack(partial, writer);
    return record;
}

std::int32_t Mutation::depth(Node const& node) const {
    switch (node.kind) {
    case NodeKind::root:
    case NodeKind::bucket:
        return 0;
    case NodeKind::operands:
    case NodeKind::function:
        return 1;
    case NodeKind::middle:
        return 2;
    }
    return 0;
}

void Mutation::pack(Node const& node, base::Bytes& out) const {
    base::ByteWriter writer(out);
    writer.put(node.kind);
    if (node.kind == NodeKind::bucket) return node.bucket.pack(writer);
    writer.put(node.programs);
    mutation::pack(node.mutant, writer);
}

Mutation::Node Mutation::unpack(std::span<std::byte const> bytes) const {
    base::ByteReader reader(bytes);
    Node node{.kind = reader.get<NodeKind>(), .mutant = {}, .bucket = {}};
    if (node.kind > NodeKind::function) throw base::SystemError("a packed node of a mutation search is not one");
    if (node.kind == NodeKind::bucket) {
        node.bucket = search::Bucket::unpack(reader);
        return node;
    }
    node.programs = reader.get<std::uint64_t>();
    node.mutant = unpack_mutant(reader);
    return node;
}

} // namespace espalier::problems::mutation
