#include "espalier/base/contract.hpp"
#include "espalier/program/graph.hpp"

#include <algorithm>
#include <map>

namespace espalier::program {
namespace {

/// Copies the ops of a graph one by one into another one, which numbers its tensors anew.
class Rewriter {
public:
    explicit Rewriter(Graph const& from) : from_(from) {
        out_ = {from.level, from.dtype, from.inputs, {}, {}, from.schedule, {}};
        for (std::size_t i = 0; i < from.inputs.size(); ++i) new_ids_.push_back(take_next(1));
    }
    /// The new id of an old tensor.
    [[nodiscard]] TensorId id(TensorId old) const { return new_ids_[old]; }
    /// Adds an op with new operand ids; returns the id of its first output.
    TensorId add(Op op, int outputs = 1) {
        out_.ops.push_back(std::move(op));
        return take_next(outputs);
    }
    int add_body(Graph body) {
        out_.bodies.push_back(std::move(body));
        return static_cast<int>(out_.bodies.size()) - 1;
    }
    /// The next old tensor has this new id.
    void rename_next(TensorId new_id) { new_ids_.push_back(new_id); }
    /// The next old tensor is not there any more.
    void drop_next() { new_ids_.push_back(gone); }
    void copy(Op op, int outputs) {
        for (auto& old : op.inputs) old = id(old);
        auto const first = add(std::move(op), outputs);
        for (int j = 0; j < outputs; ++j) rename_next(TensorId{first.value + j});
    }
    Graph finish() {
        for (auto const old : from_.outputs) out_.outputs.push_back(id(old));
        return std::move(out_);
    }

private:
    static constexpr TensorId gone{-1};
    TensorId take_next(int count) {
        auto const first = next_;
        next_.value += count;
        return first;
    }

    Graph const& from_;
    Graph out_;
    base::IndexedVector<TensorId, TensorId> new_ids_; ///< by the old one
    TensorId next_{0};
};

Graph const& body_of(Graph const& graph, Op const& op) { return graph.bodies[static_cast<std::size_t>(op.body)]; }

Graph inlined_block(Graph const& block) {
    Rewriter out(block);
    for (auto const& op : block.ops) {
        if (op.code != OpCode::graph) {
            out.copy(op, output_count(block, op));
            continue;
        }
        auto const& body = body_of(block, op);
        base::IndexedVector<TensorId, TensorId> ids; // in the block, of the body's tensors
        for (auto const old : op.inputs) ids.push_back(out.id(old));
        for (auto inner : body.ops) {
            for (auto& id : inner.inputs) id = ids[id];
            ids.push_back(out.add(std::move(inner)));
        }
        for (auto const id : body.outputs) out.rename_next(ids[id]);
    }
    return out.finish();
}

/// Which ops of a block, without thread graphs, run in one thread graph.
class Grouping {
public:
    Grouping(Graph const& block, TensorInfos const& tensors)
        : block_(block), tensors_(tensors), reader_(block.ops.size(), nobody) {
        for (auto const i : block.ops.ids())
            for (auto const id : block.ops[i].inputs) note_reader(id, i);
        for (auto const id : block.outputs) note_reader(id, many);
    }
    /// Whether an op's value goes to one op only, which can work on it in a register.
    [[nodiscard]] bool is_absorbed(OpId op) const {
        auto const reader = reader_[op];
        return block_.ops.contains(reader) && can_join(op) && can_join(reader);
    }
    /// The ops of the tree that ends in `last`, in order.
    [[nodiscard]] std::vector<OpId> tree(OpId last) const {
        std::vector<OpId> ops{last};
        for (std::size_t k = 0; k < ops.size(); ++k)
            for (auto const id : block_.ops[ops[k]].inputs) {
                auto const maker = tensors_[id].maker;
                if (maker != no_op && is_absorbed(maker)) ops.push_back(maker);
            }
        std::ranges::sort(ops);
        ops.erase(std::unique(ops.begin(), ops.end()), ops.end());
        return ops;
    }

private:
    static constexpr OpId nobody = no_op, many{-2};
    [[nodiscard]] bool can_join(OpId op) const {
        auto const& row = info(block_.ops[op].code);
        return is_pointwise(row) && row.outputs == 1;
    }
    void note_reader(TensorId id, OpId op) {
        auto const maker = tensors_[id].maker;
        if (maker == no_op) return;
        auto& reader = reader_[maker];
        reader = reader == nobody || reader == op ? op : many;
    }

    Graph const& block_;
    TensorInfos const& tensors_;
    base::IndexedVector<OpId, OpId> reader_; ///< of what each op makes
};

/// Makes one thread graph of some ops of a block.
class ThreadGraphMaker {
public:
    ThreadGraphMaker(Graph const& block, TensorInfos const& tensors) : block_(block), tensors_(tensors) {
        for (auto const id : tensors.ids())
            if (tensors[id].maker != no_op && tensors[id].output == 0) made_.push_back(id);
    }

    /// `operands`: the tensors of the block that the thread graph reads.
    Graph make(std::vector<OpId> const& ops, TensorIds& operands) {
        std::map<TensorId, TensorId> ids; // tensors of the block -> of the thread graph
        for (auto const i : ops) ids[made_[i]] = TensorId{-1};
        Graph out{Level::thread, block_.dtype, {}, {}, {}, {}, {}};
        for (auto const i : ops)
            for (auto const id : block_.ops[i].inputs)
                if (ids.emplace(id, TensorId{static_cast<int>(operands.size())}).second) {
                    operands.push_back(id);
                    out.inputs.push_back({"", tensors_[id].shape});
                }
        for (auto const i : ops) {
            auto op = block_.ops[i];
            for (auto& id : op.inputs) id = ids.at(id);
            out.ops.push_back(std::move(op));
            ids[made_[i]] = TensorId{static_cast<int>(operands.size() + out.ops.size()) - 1};
        }
        out.outputs = {ids.at(made_[ops.back()])};
        return out;
    }

private:
    Graph const& block_;
    TensorInfos const& tensors_;
    base::IndexedVector<OpId, TensorId> made_; ///< the first output of each op
};

Graph grouped_block(Graph const& given) {
    auto const block = inlined_block(given);
    auto const tensors = infer(block);
    Grouping const grouping(block, tensors);
    Rewriter out(block);
    for (auto const i : block.ops.ids()) {
        auto const tree = grouping.tree(i);
        if (grouping.is_absorbed(i))
            out.drop_next();
        else if (tree.size() < 2)
            out.copy(block.ops[i], output_count(block, block.ops[i]));
        else {
            Op op{OpCode::graph, {}, {}, -1};
            op.body = out.add_body(ThreadGraphMaker(block, tensors).make(tree, op.inputs));
            out.copy(std::move(op), 1);
        }
    }
    return out.finish();
}

/// The same for every block graph of a kernel graph.
template <class Change>
Graph change_blocks(Graph const& graph, Change change) {
    if (graph.level == Level::block) return change(graph);
    auto out = graph;
    for (auto& body : out.bodies) body = change(body);
    return out;
}

} // namespace

Graph with_thread_graphs(Graph const& graph) {
    ESP_EXPECT(graph.level != Level::thread);
    return change_blocks(graph, grouped_block);
}

Graph inline_thread_graphs(Graph const& graph) {
    ESP_EXPECT(graph.level != Level::thread);
    return change_blocks(graph, inlined_block);
}

} // namespace espalier::program
