#include "verifier.hpp"

#include "classes.hpp"
#include "instantiate.hpp"
#include "shrink.hpp"

#include "espalier/base/hash.hpp"
#include "espalier/base/key_error.hpp"
#include "espalier/base/system.hpp"
#include "espalier/program/meaning.hpp"
#include "espalier/verify/sampling.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>

namespace espalier::problems::mugraph {
namespace {

constexpr double small_flops = 2e6; ///< programs this small are compared whole, not on samples
constexpr double heavy_work = 5e7;  ///< values of a sample that takes about a second

double flops_of(program::Graph const& graph) {
    auto const tensors = program::infer(graph);
    double flops = 0;
    for (auto const& op : graph.ops) {
        std::vector<program::Shape> shapes;
        for (auto const in : op.inputs) shapes.push_back(tensors[in].shape);
        auto const size = op.attributes.whole(program::AttributeName::size, 0);
        flops += count_of(meaning_of(program::info(op.code), {shapes, op.attributes, size, 1})).total();
    }
    return flops;
}

program::SymbolicShapes kernel_shapes(Explorer const& explorer) {
    program::SymbolicShapes out;
    auto const& kernel = explorer.kernel();
    for (int i = 0; i < kernel.tensors.count; ++i) out.push_back(kernel.context->values[kernel.tensors[i]].shape);
    return out;
}

std::uint64_t form_hash(Node node) {
    node.is_sized = false;
    node.stage = 0;
    node.bound_us = 0;
    base::Bytes bytes;
    pack(node, bytes);
    return base::hash_bytes(bytes);
}

Sizes real_sizes(Target const& target, Node const& node) {
    auto sizes = target.real_sizes();
    for (int k = 0; k < node.begins; ++k)
        sizes = with_kernel(target, k, node.sizes[static_cast<std::size_t>(k)], sizes);
    return sizes;
}

std::unique_ptr<verify::DeviceService> make_device(config::Device device) {
    if (device == config::Device::cpu) return nullptr;
    auto service = verify::DeviceService::make({});
    if (service) return std::make_unique<verify::DeviceService>(std::move(*service));
    if (device == config::Device::automatic) return nullptr;
    throw base::KeyError("verify.device", fmt::format("cuda, but {}: use auto or cpu", verify::why_no_device()));
}

} // namespace

Verifier::Verifier(Target const& target, Space const& space, config::VerifyConfig const& config, std::uint64_t seed)
    : Verifier(target, space, Options{config, seed, make_device(config.device)}) {}

Verifier::Verifier(Target const& target, Space const& space, Options wanted)
    : target_(target), space_(space), options_(wanted.config), seed_(wanted.seed), device_(std::move(wanted.device)),
      is_small_(flops_of(target.graph) <= small_flops),
      is_heavy_(!is_small_ && verify::is_much_work(target.input, options_.elements, heavy_work)), prover_(target.input),
      samples_(target.input, options(1, field::Roots::power, is_small_ ? 0 : options_.elements)),
      whole_(target.input, options(options_.tests, field::Roots::random_function)),
      floats_(target.input, {base::hash_combine(seed_, 0xF10A7), std::max(4, options_.elements / 4)}) {}

verify::CompareOptions Verifier::options(int tests, field::Roots roots, std::int64_t max_elements) const {
    return {tests, base::hash_combine(seed_, 0x5EC0), roots, max_elements, device_.get()};
}

/// One question of one node, which nobody could add to: not worth a device's while.
SecondShape Verifier::try_second_shape(Node const& node, program::TensorIds const& outputs,
                                       Explorer const& explorer) const {
    auto const sizes = second_sizes(target_, node, kernel_shapes(explorer));
    auto compared = options(1, field::Roots::power);
    compared.device = nullptr;
    try {
        auto const candidate = program_of(target_, space_, node, sizes, outputs);
        auto const comparison =
            verify::compare(target_.with_sizes(sizes), candidate, compared, explorer.notes().stop());
        return comparison.verdict == verify::Verdict::different ? SecondShape::refuted : SecondShape::passed;
    } catch (base::InputError const&) {
        return SecondShape::none;
    }
}

FormCheck unchecked_form() {
    return {.functions = {.verdict = verify::Verdict::undecided, .error_bound = 1},
            .holds_with_roots = true,
            .holds_in_floats = true};
}

Judgement judge(FormCheck const& form, Evidence const& evidence) {
    using enum verify::Verdict;
    auto const& [sampled, whole, has_roots, has_order, has_tails, proof, holds_in_floats] = evidence;
    if (!form.holds_with_roots) return form.functions.verdict == different ? Judgement::refuted : Judgement::undecided;
    auto const is_other_function = whole && whole->verdict == different && !has_roots;
    if (sampled.verdict == different || is_other_function) return Judgement::refuted;
    if (sampled.verdict == undecided) return Judgement::undecided;
    if (!form.holds_in_floats || !holds_in_floats) return Judgement::refuted_in_floats;
    auto const is_covered = whole ? whole->verdict == equal : !has_tails;
    auto const has_bound = !has_order && form.functions.verdict == equal && is_covered;
    return proof.is_proved || (has_bound && proof.is_defined) ? Judgement::equal : Judgement::undecided;
}

/// Timed apart from the rest of verifying. Throws Stopped if the run stops: nothing is decided then.
verify::Proof Verifier::prove(program::Graph const& graph, search::Notes& notes) const {
    auto const start_ns = base::thread_cpu_ns();
    auto proof = prover_.prove(graph, notes.stop());
    notes.add_proof(base::thread_cpu_ns() - start_ns);
    return proof;
}

Verifier::Finding Verifier::verify(Node const& node, Explorer& explorer, FormMemo& forms) const {
    return std::move(verify_all({&node, 1}, explorer, forms).front());
}

std::vector<Verifier::Finding> Verifier::verify_all(std::span<Node const> nodes, Explorer& explorer,
                                                    FormMemo& memo) const {
    std::vector<Finding> out;
    auto& notes = explorer.notes();
    auto const at_once = device_ ? nodes.size() : 1; // without a device there is nothing to gain
    for (std::size_t i = 0; i < nodes.size(); i += at_once) {
        auto const some = nodes.subspan(i, at_once);
        Forms forms{memo, {}};
        std::vector<Draft> drafts;
        for (auto const& node : some) {
            notes.stop().check();
            drafts.push_back(draft(node, explorer, forms));
        }
        check_forms(forms, notes.stop());
        for (std::size_t n = 0; n < drafts.size(); ++n) write_program(drafts[n], some[n], memo);
        if (is_heavy_)
            for (auto& one : drafts) prove_first(one, notes);
        compare_all(drafts, notes.stop());
        for (auto& one : drafts) out.push_back(conclude(std::move(one), notes));
    }
    return out;
}

Verifier::Draft Verifier::draft(Node const& node, Explorer& explorer, Forms& forms) const {
    Draft out;
    auto path = node;
    path.is_sized = false;
    explorer.replay(path);
    auto outputs = explorer.matched_outputs();
    if (!outputs) return out;
    out.form_key = form_hash(path);
    out.outputs = std::move(*outputs);
    add_form(out, path, explorer, forms);
    return out;
}

/// Unless it is known, or is checked already.
void Verifier::add_form(Draft const& draft, Node const& path, Explorer const& explorer, Forms& forms) const {
    auto const key = *draft.form_key;
    if (forms.known.contains(key) || std::ranges::find(forms.open, key, &OpenForm::key) != forms.open.end()) return;
    auto const sizes = second_sizes(target_, path, kernel_shapes(explorer));
    try {
        OpenForm open{key, target_.with_sizes(sizes), program_of(target_, space_, path, sizes, draft.outputs), {}};
        (void)program::infer(open.reference), (void)program::infer(open.candidate); // what comes later does not throw
        forms.open.push_back(std::move(open));
    } catch (base::InputError const&) {
        forms.known[key] = unchecked_form();
    }
}

/// All open forms, which are known afterwards; if the run stops, none of them is.
void Verifier::check_forms(Forms& forms, base::StopToken stop) const {
    std::vector<OpenForm*> all, others;
    for (auto& form : forms.open) all.push_back(&form);
    auto const functions = compare_forms(all, field::Roots::random_function, stop);
    for (std::size_t i = 0; i < all.size(); ++i) {
        all[i]->check.functions = functions[i];
        all[i]->check.holds_with_roots = functions[i].verdict == verify::Verdict::equal;
        if (!all[i]->check.holds_with_roots) others.push_back(all[i]);
    }
    auto const powers = compare_forms(others, field::Roots::power, stop);
    for (std::size_t i = 0; i < others.size(); ++i)
        others[i]->check.holds_with_roots = powers[i].verdict == verify::Verdict::equal;
    for (auto* const form : all)
        form->check.holds_in_floats =
            form->check.holds_with_roots &&
            verify::RealReference(form->reference, {.seed = seed_}).refute(form->candidate, stop).empty();
    for (auto const* const form : all) forms.known[form->key] = form->check;
}

std::vector<verify::Comparison> Verifier::compare_forms(std::span<OpenForm* const> forms, field::Roots roots,
                                                        base::StopToken stop) const {
    auto const is_expected = expected();
    std::deque<verify::Reference> references; // which do not move
    std::vector<verify::Reference::Pairing> pairings;
    for (auto const* const form : forms) {
        auto const& reference = references.emplace_back(form->reference, options(options_.tests, roots));
        pairings.push_back({&reference, &form->candidate});
    }
    return verify::Reference::compare_all(pairings, stop);
}

/// The program at its real shape, if the form holds.
void Verifier::write_program(Draft& draft, Node const& node, FormMemo const& forms) const {
    if (!draft.form_key) return;
    auto const& form = forms.at(*draft.form_key);
    draft.verdict.judgement = judge(form, {});
    if (!form.holds_with_roots) return;
    draft.form = &form;
    auto path = node;
    path.is_sized = false;
    draft.verdict.graph = program_of(target_, space_, path, real_sizes(target_, node), draft.outputs);
    for (auto& body : draft.verdict.graph.bodies) body = program::with_thread_graphs(body);
}

/// A program that is proved at its real shape is not sampled there as well if that takes seconds. Smaller last tiles
/// are: the small shapes do not have them.
void Verifier::prove_first(Draft& draft, search::Notes& notes) const {
    if (!draft.form || !options_.prove || program::has_tails(draft.verdict.graph)) return;
    draft.evidence.proof = prove(draft.verdict.graph, notes);
    draft.is_taken_on_proof = draft.evidence.proof.is_proved;
    if (draft.is_taken_on_proof) draft.evidence.sampled.verdict = verify::Verdict::equal;
}

/// That this thread will submit to the device, if there is one.
std::optional<verify::DeviceService::Expected> Verifier::expected() const {
    if (!device_) return {};
    return std::optional<verify::DeviceService::Expected>(std::in_place, *device_);
}

/// All programs at their real shape, so that a device has many of them at once.
void Verifier::compare_all(std::span<Draft> drafts, base::StopToken stop) const {
    auto const is_expected = expected();
    std::vector<Draft*> open;
    std::vector<program::Graph const*> graphs;
    auto const gather = [&](auto const& is_open) {
        open.clear(), graphs.clear();
        for (auto& one : drafts)
            if (is_open(one)) open.push_back(&one), graphs.push_back(&one.verdict.graph);
    };
    gather([](Draft const& one) { return one.form && !one.is_taken_on_proof; });
    auto const sampled = samples_.compare_all(graphs, stop);
    for (std::size_t i = 0; i < open.size(); ++i) open[i]->evidence.sampled = sampled[i];
    if (!is_small_) return;
    gather([](Draft const& one) { return one.form && one.evidence.sampled.verdict == verify::Verdict::equal; });
    auto const whole = whole_.compare_all(graphs, stop);
    for (std::size_t i = 0; i < open.size(); ++i) open[i]->evidence.whole = whole[i];
}

/// Proof and floats, which no device does.
Verifier::Finding Verifier::conclude(Draft draft, search::Notes& notes) const {
    auto& out = draft.verdict;
    auto const* const form = draft.form;
    auto& evidence = draft.evidence;
    if (!form) return std::move(out);
    if (evidence.sampled.verdict == verify::Verdict::equal) {
        evidence.has_roots = verify::has_root(target_.graph) || verify::has_root(out.graph);
        evidence.has_order = verify::has_order(target_.graph) || verify::has_order(out.graph);
        evidence.has_tails = program::has_tails(out.graph);
        if (!draft.is_taken_on_proof) evidence.proof = prove(out.graph, notes);
        evidence.proof.is_proved = evidence.proof.is_proved && options_.prove;
        if (judge(*form, evidence) == Judgement::equal && !draft.is_taken_on_proof)
            evidence.holds_in_floats = floats_.refute(out.graph, notes.stop()).empty();
    }
    out.judgement = judge(*form, evidence);
    out.is_proved = evidence.proof.is_proved;
    out.is_full_scope = is_small_;
    auto const& tested = evidence.whole ? *evidence.whole : evidence.sampled;
    out.sampled_elements = tested.elements;
    out.error_bound = evidence.whole ? evidence.whole->error_bound : form->functions.error_bound;
    return std::move(out);
}

} // namespace espalier::problems::mugraph
