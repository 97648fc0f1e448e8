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
        for (std::size_t i = 0; i < from.inputs.size(); ++i) new_ids_.push_back(next_++);
    }
    /// The new id of an old tensor.
    [[nodiscard]] int id(int old) const { return new_ids_[static_cast<std::size_t>(old)]; }
    /// Adds an op with new operand ids; returns the id of its first output.
    int add(Op op, int outputs = 1) {
        out_.ops.push_back(std::move(op));
        auto const first = next_;
        next_ += outputs;
        return first;
    }
    int add_body(Graph body) {
        out_.bodies.push_back(std::move(body));
        return static_cast<int>(out_.bodies.size()) - 1;
    }
    /// The next old tensor has this new id; -1 if it is gone.
    void rename_next(int new_id) { new_ids_.push_back(new_id); }
    void copy(Op op, int outputs) {
        for (auto& old : op.inputs) old = id(old);
        auto const first = add(std::move(op), outputs);
        for (int j = 0; j < outputs; ++j) rename_next(first + j);
    }
    Graph finish() {
        for (auto const old : from_.outputs) out_.outputs.push_back(id(old));
        return std::move(out_);
    }

private:
    Graph const& from_;
    Graph out_;
    std::vector<int> new_ids_;
    int next_ = 0;
};

Graph const& body_of(Graph const& graph, Op const& op) { return graph.bodies[static_cast<std::size_t>(op.body)]; }

Graph inlined_block(Graph const& block) {
    Rewriter out(block);
    for (auto const& op : block.ops) {
        if (op.code != OpCode::graph) {
            out.copy(op, 1);
            continue;
        }
        auto const& body = body_of(block, op);
        std::vector<int> ids; // of the body's tensors
        for (auto const old : op.inputs) ids.push_back(out.id(old));
        for (auto inner : body.ops) {
            for (auto& id : inner.inputs) id = ids[static_cast<std::size_t>(id)];
            ids.push_back(out.add(std::move(inner)));
        }
        for (auto const id : body.outputs) out.rename_next(ids[static_cast<std::size_t>(id)]);
    }
    return out.finish();
}

/// Which ops of a block, without thread graphs, run in one thread graph.
class Grouping {
public:
    explicit Grouping(Graph const& block) : block_(block), reader_(block.ops.size(), none) {
        for (std::size_t i = 0; i < block.ops.size(); ++i)
            for (auto const id : block.ops[i].inputs) note_reader(id, static_cast<int>(i));
        for (auto const id : block.outputs) note_reader(id, many);
    }
    /// Whether an op's value goes to one op only, which can work on it in a register.
    [[nodiscard]] bool is_absorbed(std::size_t op) const {
        auto const reader = reader_[op];
        return reader >= 0 && can_join(op) && can_join(static_cast<std::size_t>(reader));
    }
    /// The ops of the tree that ends in `root`, in order.
    [[nodiscard]] std::vector<std::size_t> tree(std::size_t root) const {
        std::vector<std::size_t> ops{root};
        for (std::size_t k = 0; k < ops.size(); ++k)
            for (auto const id : block_.ops[ops[k]].inputs) {
                auto const maker = id - inputs();
                if (maker >= 0 && is_absorbed(static_cast<std::size_t>(maker)))
                    ops.push_back(static_cast<std::size_t>(maker));
            }
        std::ranges::sort(ops);
        ops.erase(std::unique(ops.begin(), ops.end()), ops.end());
        return ops;
    }

private:
    static constexpr int none = -1, many = -2;
    [[nodiscard]] int inputs() const { return static_cast<int>(block_.inputs.size()); }
    [[nodiscard]] bool can_join(std::size_t op) const { return is_pointwise(info(block_.ops[op].code)); }
    void note_reader(int id, int op) {
        if (id < inputs()) return;
        auto& reader = reader_[static_cast<std::size_t>(id - inputs())];
        reader = reader == none || reader == op ? op : many;
    }

    Graph const& block_;
    std::vector<int> reader_; ///< of each op's output
};

/// Makes one thread graph of some ops of a block.
class ThreadGraphMaker {
public:
    ThreadGraphMaker(Graph const& block, std::vector<TensorInfo> const& tensors) : block_(block), tensors_(tensors) {}

    /// `operands`: the tensors of the block that the thread graph reads.
    Graph make(std::vector<std::size_t> const& ops, std::vector<int>& operands) {
        auto const first = static_cast<int>(block_.inputs.size());
        std::map<int, int> ids; // tensors of the block -> of the thread graph
        for (auto const i : ops) ids[first + static_cast<int>(i)] = -1;
        Graph out{Level::thread, block_.dtype, {}, {}, {}, {}, {}};
        for (auto const i : ops)
            for (auto const id : block_.ops[i].inputs)
                if (ids.emplace(id, static_cast<int>(operands.size())).second) {
                    operands.push_back(id);
                    out.inputs.push_back({"", tensors_[static_cast<std::size_t>(id)].shape});
                }
        for (auto const i : ops) {
            auto op = block_.ops[i];
            for (auto& id : op.inputs) id = ids.at(id);
            ids[first + static_cast<int>(i)] = static_cast<int>(operands.size() + out.ops.size());
            out.ops.push_back(std::move(op));
        }
        out.outputs = {static_cast<int>(operands.size() + out.ops.size()) - 1};
        return out;
    }

private:
    Graph const& block_;
    std::vector<TensorInfo> const& tensors_;
};

Graph grouped_block(Graph const& given) {
    auto const block = inlined_block(given);
    auto const tensors = infer(block);
    Grouping const grouping(block);
    Rewriter out(block);
    for (std::size_t i = 0; i < block.ops.size(); ++i) {
        auto const tree = grouping.tree(i);
        if (grouping.is_absorbed(i))
            out.rename_next(-1);
        else if (tree.size() < 2)
            out.copy(block.ops[i], 1);
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
