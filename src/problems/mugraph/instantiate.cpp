#include "instantiate.hpp"

#include "classes.hpp"
#include "path.hpp"

#include "espalier/base/error.hpp"

namespace espalier::problems::mugraph {
namespace {

using program::Graph;
using program::Op;
using program::TensorId;

Op make_op(Target const& target, SearchOp const& op, Step const& step, Sizes const& sizes) {
    Op out{op.code(), target.attributes_at(op.row(), op.attributes, op.size, op.sizes, sizes), {}, -1};
    for (int i = 0; i < step.count; ++i) out.inputs.emplace_back(step.in[static_cast<std::size_t>(i)]);
    return out;
}

/// Where the steps of a graph-defined kernel are: from its begin to its finish, or to the end.
std::pair<int, int> range_of(Node const& node, int kernel) {
    int seen = -1, from = 0;
    for (int i = 0; i < node.count; ++i) {
        auto const kind = node.steps[static_cast<std::size_t>(i)].kind;
        if (kind == Step::Kind::begin && ++seen == kernel) from = i;
        if (kind == Step::Kind::finish && seen == kernel) return {from, i};
    }
    return {from, node.count};
}

program::Schedule schedule_of(Target const& target, Space const& space, Begin const& begin, int kernel,
                              Sizes const& sizes) {
    program::Schedule out;
    out.threads = space.threads;
    for (int axis = 0; axis < 3; ++axis)
        out.grid[static_cast<std::size_t>(axis)] = target.axis_word(begin, kernel, axis).value(sizes);
    out.loop = target.loop_word(begin, kernel).value(sizes);
    for (std::size_t i = 0; i < begin.count; ++i) {
        program::Partition partition;
        for (std::size_t a = 0; a < 3; ++a) partition.grid[a] = begin.cuts[i].grid[a];
        partition.loop = begin.cuts[i].loop;
        out.inputs.push_back(partition);
    }
    return out;
}

/// The tensors of a block that nothing reads or that are stored anyway, in order.
program::TensorIds put_out(Graph const& block, std::uint32_t stored) {
    auto count = block.inputs.size();
    for (auto const& op : block.ops) count += static_cast<std::size_t>(program::output_count(block, op));
    base::IndexedVector<TensorId, bool> is_read(count);
    for (auto const& op : block.ops)
        for (auto const id : op.inputs) is_read[id] = true;
    program::TensorIds out;
    for (auto const id : is_read.ids())
        if (!is_read[id] || (stored >> id.value & 1u) != 0) out.push_back(id);
    return out;
}

/// Not every op can read tiles of which the last is smaller.
bool has_legal_tails(Graph const& block) {
    try {
        auto const tensors = program::infer(block);
        for (auto const id : block.outputs)
            (void)program::joined_shape(tensors[id].shape, block.schedule, tensors[id].tails);
        return true;
    } catch (base::InputError const&) {
        return false;
    }
}

} // namespace

std::vector<SearchOp> const& ops_of(Space const& space, Begin const& begin) {
    return begin.has_loop() ? space.block_ops : space.unlooped_block_ops;
}

Graph block_of(Target const& target, Space const& space, Node const& node, int kernel,
               std::vector<program::Shape> const& operands, Sizes const& sizes) {
    auto const& begin = node.begin[static_cast<std::size_t>(kernel)];
    Graph block;
    block.level = program::Level::block;
    block.dtype = target.graph.dtype;
    block.schedule = schedule_of(target, space, begin, kernel, sizes);
    for (std::size_t i = 0; i < operands.size(); ++i) {
        auto& partition = block.schedule.inputs[i];
        partition = program::with_tails(partition, operands[i], block.schedule);
        block.inputs.push_back({"", program::tile_shape(operands[i], partition, block.schedule)});
    }
    auto const [from, to] = range_of(node, kernel);
    auto const& ops = ops_of(space, begin);
    for (int i = from + 1; i < to; ++i) {
        auto const& step = node.steps[static_cast<std::size_t>(i)];
        block.ops.push_back(make_op(target, ops[step.op], step, sizes));
    }
    auto const end = to < node.count ? node.steps[static_cast<std::size_t>(to)] : Step{};
    block.outputs = put_out(block, stored_of(end));
    block.schedule.output = joins_of(end);
    return block;
}

bool has_legal_shapes(Graph const& block) {
    base::IndexedVector<TensorId, program::Shape> tensors;
    for (auto const& input : block.inputs) tensors.push_back(input.shape);
    for (auto const& op : block.ops) {
        std::vector<program::Shape> operands;
        for (auto const id : op.inputs) operands.push_back(tensors[id]);
        auto const size = op.attributes.whole(program::AttributeName::size, 0);
        auto const& row = program::info(op.code);
        for (int output = 0; output < row.outputs; ++output) {
            auto const shape = row.shape({operands, op.attributes, size, block.schedule.loop, output});
            if (!shape) return false;
            tensors.push_back(*shape);
        }
    }
    return !program::has_tails(block) || has_legal_tails(block);
}

Graph program_of(Target const& target, Space const& space, Node const& node, Sizes const& sizes,
                 program::TensorIds const& outputs) {
    auto out = target.with_sizes(sizes);
    out.ops.clear();
    std::vector<program::Shape> shapes;
    for (auto const& input : out.inputs) shapes.push_back(input.shape);
    int kernel = 0;
    for (int i = 0; i < node.count; ++i) {
        auto const& step = node.steps[static_cast<std::size_t>(i)];
        if (step.kind == Step::Kind::kernel_op || step.kind == Step::Kind::view)
            out.ops.push_back(make_op(target, space.kernel_ops[step.op], step, sizes));
        if (step.kind == Step::Kind::begin) {
            auto const& begin = node.begin[static_cast<std::size_t>(kernel)];
            Op op{program::OpCode::graph, {}, {}, kernel};
            std::vector<program::Shape> operands;
            for (std::size_t j = 0; j < begin.count; ++j) {
                op.inputs.emplace_back(begin.operands[j]);
                operands.push_back(shapes[begin.operands[j]]);
            }
            out.bodies.push_back(block_of(target, space, node, kernel, operands, sizes));
            out.ops.push_back(op);
            i = range_of(node, kernel++).second;
        }
        out.outputs.clear();
        auto const tensors = program::infer(out);
        shapes.clear();
        for (auto const& tensor : tensors) shapes.push_back(tensor.shape);
    }
    out.outputs = outputs;
    return out;
}

} // namespace espalier::problems::mugraph
