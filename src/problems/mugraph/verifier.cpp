#include "verifier.hpp"

#include "explorer_detail.hpp"
#include "instantiate.hpp"
#include "shrink.hpp"

#include "espalier/base/error.hpp"

namespace espalier::problems::mugraph {
namespace {

constexpr double small_flops = 2e6; ///< programs this small are compared whole, not on samples

double flops_of(program::Graph const& graph) {
    auto const tensors = program::infer(graph);
    double flops = 0;
    auto id = graph.inputs.size();
    for (auto const& op : graph.ops) {
        std::vector<program::Shape> shapes;
        for (auto const in : op.inputs) shapes.push_back(tensors[static_cast<std::size_t>(in)].shape);
        auto const size = op.attributes.whole(program::AttributeName::size, 0);
        flops += program::info(op.code).flops({shapes, op.attributes, size, 1}, tensors[id++].shape);
    }
    return flops;
}

std::vector<program::SymbolicShape> kernel_shapes(Explorer const& explorer) {
    std::vector<program::SymbolicShape> out;
    auto const& kernel = explorer.kernel();
    for (int i = 0; i < kernel.tensors.count; ++i) out.push_back(kernel.context->values[kernel.tensors[i]].shape);
    return out;
}

std::uint64_t form_hash(Node node) {
    node.is_sized = false;
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
    throw base::InputError("'verify.device' = cuda, but {}: say auto or cpu", verify::why_no_device());
}

} // namespace

Verifier::Verifier(Target const& target, Space const& space, config::VerifyConfig const& verify, std::uint64_t seed)
    : target_(target), space_(space), options_(verify), seed_(seed), device_(make_device(verify.device)),
      prover_(target.graph), samples_(target.graph, options(1, field::Roots::power, verify.elements)),
      whole_(target.graph, options(verify.tests, field::Roots::random_function)), full_flops_(flops_of(target.graph)) {}

verify::CompareOptions Verifier::options(int tests, field::Roots roots, std::int64_t max_elements) const {
    return {tests, base::hash_combine(seed_, 0x5EC0), roots, max_elements, device_.get()};
}

bool Verifier::holds_on_second_shape(Node const& node, std::vector<int> const& outputs,
                                     Explorer const& explorer) const {
    auto const sizes = second_sizes(target_, node, kernel_shapes(explorer));
    try {
        auto const candidate = program_of(target_, space_, node, sizes, outputs);
        auto const comparison = verify::compare(target_.with_sizes(sizes), candidate, options(1, field::Roots::power));
        return comparison.verdict != verify::Verdict::different;
    } catch (base::InputError const&) {
        return true; // no second shape divides: the real one decides
    }
}

FormCheck const& Verifier::check_form(Node const& node, std::vector<int> const& outputs, Explorer const& explorer,
                                      FormMemo& forms) const {
    auto const [at, is_new] = forms.try_emplace(form_hash(node));
    auto& check = at->second;
    if (!is_new) return check;
    auto const sizes = second_sizes(target_, node, kernel_shapes(explorer));
    try {
        auto const reference = target_.with_sizes(sizes);
        auto const candidate = program_of(target_, space_, node, sizes, outputs);
        check.functions = verify::compare(reference, candidate, options(options_.tests, field::Roots::random_function));
        check.holds_with_roots =
            check.functions.verdict == verify::Verdict::equal ||
            verify::compare(reference, candidate, options(options_.tests, field::Roots::power)).verdict ==
                verify::Verdict::equal;
    } catch (base::InputError const&) {
        check.functions = {}; // no second shape divides: no bound, so a proof must follow
        check.functions.verdict = verify::Verdict::undecided;
        check.functions.error_bound = 1;
        check.holds_with_roots = true;
    }
    return check;
}

Verifier::Verdict Verifier::verify(Node const& node, Explorer& explorer, FormMemo& forms) const {
    Verdict out;
    auto path = node;
    path.is_sized = false;
    explorer.replay(path);
    auto const outputs = explorer.matched_outputs();
    if (!outputs) return out;
    auto const& form = check_form(path, *outputs, explorer, forms);
    if (!form.holds_with_roots) {
        out.is_decided = form.functions.verdict == verify::Verdict::different;
        return out;
    }
    auto const plain = program_of(target_, space_, path, real_sizes(target_, node), *outputs);
    out.graph = plain;
    for (auto& body : out.graph.bodies) body = program::with_thread_graphs(body);

    out.is_full_scope = full_flops_ <= small_flops;
    auto const real = samples_.compare(out.graph);
    out.sampled_elements = real.elements;
    out.is_decided = real.verdict != verify::Verdict::undecided;
    if (real.verdict != verify::Verdict::equal) return out;
    out.is_proved = options_.prove && prover_.prove(out.graph).is_proved;
    out.error_bound = form.functions.error_bound;
    if (out.is_full_scope) {
        auto const whole = whole_.compare(out.graph);
        out.sampled_elements = whole.elements;
        out.error_bound = whole.verdict == verify::Verdict::equal ? whole.error_bound : 1;
    }
    auto const has_bound = form.functions.verdict == verify::Verdict::equal;
    out.is_equal = out.is_proved || has_bound;
    out.is_decided = out.is_equal;
    return out;
}

} // namespace espalier::problems::mugraph
