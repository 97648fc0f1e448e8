#include "contexts.hpp"

#include "shrink.hpp"

#include "espalier/base/hash.hpp"

#include <fmt/format.h>

namespace espalier::problems::mugraph {
namespace {

constexpr std::uint64_t max_draws = 20;

verify::Tiles random_tensor(std::uint64_t seed, std::uint32_t tensor, program::Shape const& shape, bool has_q) {
    verify::Tiles out{shape, 1, has_q, {}, {}};
    auto const count = program::element_count(shape);
    for (std::int64_t i = 0; i < count; ++i) {
        auto const element = field::random_input(seed, tensor, static_cast<std::uint64_t>(i));
        out.p.push_back(element.p);
        if (has_q) out.q.push_back(element.q);
    }
    return out;
}

} // namespace

KernelContext& Contexts::of(Node const& node) {
    auto& context = contexts_[unit_dims_of(node)];
    if (!context) context = make(unit_dims_of(node));
    return *context;
}

void Contexts::check_program() const {
    auto const dims = static_cast<unsigned>(setup_->target.dims);
    for (std::uint32_t unit_dims = 0; unit_dims < 1u << dims; ++unit_dims)
        if (__builtin_popcount(unit_dims) <= setup_->space.graph_kernels) (void)make(unit_dims);
}

std::size_t Contexts::memory_bytes() const {
    std::size_t bytes = 0;
    for (auto const& [unit_dims, context] : contexts_) bytes += context->values.memory_bytes();
    return bytes;
}

/// Draws again while the program itself divides by zero.
std::unique_ptr<KernelContext> Contexts::make(std::uint32_t unit_dims) const {
    for (std::uint64_t n = 0; n < max_draws; ++n) {
        auto context = draw(unit_dims, base::hash_combine(setup_->seed, n));
        if (set_targets(context, n + 1 == max_draws ? Draw::last : Draw::may_repeat))
            return std::make_unique<KernelContext>(std::move(context));
    }
    ESP_ASSERT(false); // the last draw throws
    return nullptr;
}

KernelContext Contexts::draw(std::uint32_t unit_dims, std::uint64_t seed) const {
    auto const& target = setup_->target;
    KernelContext context;
    context.sizes = first_sizes(target, unit_dims);
    context.model = field::make_model(seed, field::Roots::power, target.has_exp);
    for (std::size_t i = 0; i < target.graph.inputs.size(); ++i) {
        PartialTensor value;
        value.shape = target.shapes[program::TensorId{static_cast<int>(i)}];
        value.expr = expressions_->leaf(static_cast<int>(i));
        value.tiles =
            random_tensor(seed, static_cast<std::uint32_t>(i), numbers(value.shape, context.sizes), target.has_exp);
        value.print = print_of(value.tiles);
        value.content = base::hash_combine(1, i);
        context.inputs.push_back(context.values.add(std::move(value)));
    }
    return context;
}

base::KeyError Contexts::refusal(program::OpId op, std::string const& problem) const {
    auto const& source = setup_->target.source;
    auto const at = setup_->target.source_ops[op];
    return {fmt::format("problem.program.ops[{}]", at), fmt::format("{} {}", source.ops[at].op, problem)};
}

/// Evaluates the program itself on the shrunk shape. False if it divides by zero there and may be drawn again.
bool Contexts::set_targets(KernelContext& context, Draw draw) const {
    auto const graph = setup_->target.with_sizes(context.sizes);
    base::IndexedVector<program::TensorId, verify::Tiles> tensors;
    for (auto const id : context.inputs) tensors.push_back(context.values[id].tiles);
    for (auto const i : graph.ops.ids()) {
        auto const& op = graph.ops[i];
        std::vector<verify::Tiles const*> operands;
        for (auto const id : op.inputs) operands.push_back(&tensors[id]);
        verify::Tiles out;
        auto const status = verify::evaluate_op({info(op.code), op.attributes, context.model, operands}, out);
        if (status == verify::OpStatus::no_exponent)
            throw refusal(i, "takes an exponential of what comes from an exponential (which cannot be evaluated in a "
                             "finite field, so that no result could be verified): leave one of them out");
        if (status == verify::OpStatus::zero_divisor && draw == Draw::may_repeat) return false;
        if (status == verify::OpStatus::zero_divisor)
            throw refusal(i, fmt::format("divides by zero on {} random inputs in a row (on the small shape where "
                                         "programs are compared, so that no result could be verified): leave it out",
                                         max_draws));
        auto const access = info(op.code).field.access;
        if (access == program::Access::normalise || access == program::Access::reduction)
            context.reduced.push_back(print_of(out));
        tensors.push_back(std::move(out));
    }
    for (auto const& tensor : tensors) context.program.push_back(print_of(tensor));
    for (auto const id : graph.outputs) context.targets.push_back(context.program[static_cast<std::size_t>(id.value)]);
    return true;
}

} // namespace espalier::problems::mugraph
