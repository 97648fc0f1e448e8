#include "espalier/codegen/plan.hpp"

#include "plan_block.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace espalier::codegen {
namespace {

using program::DType;
using program::Graph;
using program::OpCode;
using program::OpId;
using program::Shape;
using program::TensorId;

constexpr std::int64_t page = 64; ///< bytes that tensors between kernels are aligned to

bool keeps_integers(program::ScalarExpression const& expression) {
    return std::ranges::all_of(expression, [](auto const& node) {
        return node.kind != program::ScalarNode::Kind::apply || program::info(node.op).keeps_integers;
    });
}
bool keeps_integers(program::Meaning const& meaning) {
    return std::ranges::all_of(
        meaning.nests, [](auto const& nest) { return keeps_integers(nest.body) && keeps_integers(nest.epilogue); });
}

class Planner {
public:
    Planner(Graph const& graph, CpuShape const& cpu, std::vector<std::int64_t> const& panels)
        : cpu_(cpu), panels_(panels), graph_(program::inline_thread_graphs(graph)), tensors_(program::infer(graph_)),
          homes_(tensors_.size()), has_home_(tensors_.size()) {
        plan_.dtype = graph.dtype;
        plan_.arithmetic = graph.dtype == DType::f64 ? DType::f64 : DType::f32;
        plan_.inputs = graph.inputs;
    }

    Plan run() {
        panels_.resize(graph_.inputs.size());
        for (std::size_t i = 0; i < graph_.inputs.size(); ++i) settle(id(i), input(i));
        for (std::size_t i = 0; i < graph_.outputs.size(); ++i) add_output(i);
        for (auto const t : tensors_.ids())
            if (!has_home_[t]) settle(t, between(tensors_[t].shape, plan_.dtype));
        for (auto const op : graph_.ops.ids()) add_kernel(op);
        for (auto const& copy : copies_) add_step(copy);
        return std::move(plan_);
    }

private:
    static TensorId id(std::size_t i) { return TensorId{static_cast<int>(i)}; }
    View new_buffer(Home home, std::string name, Shape const& shape, int argument = 0) {
        plan_.buffers.push_back(
            {.name = std::move(name), .home = home, .dtype = plan_.dtype, .shape = shape, .argument = argument});
        return whole_view(plan_.buffers.size() - 1, shape);
    }
    void settle(TensorId t, View const& home) {
        homes_[t] = home;
        has_home_[t] = true;
    }
    /// Of a packed one, the strides at which panels, rows and matrices begin.
    View input(std::size_t i) {
        auto view = new_buffer(Home::input, fmt::format("in{}", i), graph_.inputs[i].shape, static_cast<int>(i));
        auto const panel = plan_.buffers.back().panel = panels_[i];
        auto const last = view.shape.rank() - 1;
        if (panel == 0) return view;
        auto stored = view.shape;
        stored[last] = (stored[last] + panel - 1) / panel * panel;
        view.strides = whole_view(view.buffer, stored).strides;
        view.strides[last] = view.shape[last - 1];
        view.strides[last - 1] = panel;
        return view;
    }
    View between(Shape const& shape, DType dtype) {
        auto const view = new_buffer(Home::between, fmt::format("b{}", plan_.buffers.size()), shape);
        auto& buffer = plan_.buffers[view.buffer];
        buffer.dtype = dtype;
        buffer.offset = plan_.between_bytes;
        auto const bytes = program::element_count(shape) * program::info(dtype).size_bytes;
        plan_.between_bytes += (bytes + page - 1) / page * page;
        return view;
    }
    /// A tensor that is an output is made there; one that is an input or an output already is copied.
    void add_output(std::size_t i) {
        auto const t = graph_.outputs[i];
        plan_.outputs.push_back(tensors_[t].shape);
        auto const view = new_buffer(Home::output, fmt::format("out{}", i), tensors_[t].shape, static_cast<int>(i));
        if (has_home_[t])
            copies_.push_back(copy_step(fmt::format("output {}", i), homes_[t], view));
        else
            settle(t, view);
    }
    void add_kernel(OpId i) {
        auto const& op = graph_.ops[i];
        std::vector<View> operands, made;
        for (auto const t : op.inputs) operands.push_back(homes_[t]);
        for (auto const t : tensors_.ids())
            if (tensors_[t].maker == i) made.push_back(homes_[t]);
        auto const what = fmt::format("kernel {}: {}", i.value, program::info(op.code).name);
        if (op.code == OpCode::graph)
            plan_.kernels.push_back(plan_block(body_of(op), operands, made, what, plan_, cpu_));
        else
            add_library(applied(graph_, tensors_, i, what), operands, made.front());
        if (op.code == OpCode::graph) note_integers(body_of(op));
    }
    [[nodiscard]] Graph const& body_of(program::Op const& op) const {
        return graph_.bodies[static_cast<std::size_t>(op.body)];
    }
    void note_integers(Graph const& block) {
        auto const inside = program::infer(block);
        for (auto const op : block.ops.ids())
            plan_.keeps_integers = plan_.keeps_integers && keeps_integers(applied(block, inside, op, "").meaning);
    }
    /// Nest by nest; the results of all nests but the last are as exact as the arithmetic.
    void add_library(Applied const& op, std::vector<View> sources, View const& target) {
        plan_.keeps_integers = plan_.keeps_integers && keeps_integers(op.meaning);
        for (auto const& nest : op.meaning.nests) {
            auto const is_last = &nest == &op.meaning.nests.back();
            auto const made = is_last ? target : between(nest.kept, plan_.arithmetic);
            add_step(step_of(op, nest, sources, made));
            sources.push_back(made);
        }
    }
    void add_step(Step const& step) { plan_.kernels.push_back({.what = step.what, .after = {step}}); }

    CpuShape cpu_;
    std::vector<std::int64_t> panels_;
    Graph graph_;
    program::TensorInfos tensors_;
    base::IndexedVector<TensorId, View> homes_;
    base::IndexedVector<TensorId, bool> has_home_;
    std::vector<Step> copies_;
    Plan plan_;
};

} // namespace

std::int64_t Plan::tile_elements() const {
    std::int64_t out = 0;
    for (auto const& kernel : kernels) out = std::max(out, kernel.tile_elements);
    return out;
}

CpuShape this_cpu() {
#if defined __x86_64__
    if (__builtin_cpu_supports("avx512f")) return {.lanes = 16, .vectors = 32};
    return __builtin_cpu_supports("avx2") ? CpuShape{.lanes = 8, .vectors = 16} : CpuShape{.lanes = 4, .vectors = 16};
#else
    return {.lanes = 4, .vectors = 32};
#endif
}

Plan make_plan(Graph const& graph, CpuShape const& cpu, std::vector<std::int64_t> const& panels) {
    return Planner(graph, cpu, panels).run();
}

} // namespace espalier::codegen
