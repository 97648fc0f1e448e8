#include "espalier/base/contract.hpp"
#include "espalier/program/graph.hpp"

#include <algorithm>

namespace espalier::program {
namespace {

/// The steps of a block's execution, in order: the ops of the loop, then those after it. Step 0 loads the inputs.
class Timeline {
public:
    Timeline(Graph const& block, TensorInfos const& tensors)
        : block_(block), tensors_(tensors), step_of_(block.ops.size()) {
        auto const in_loop =
            work_in_loop(block, tensors).ops; // an accumulator, though its value is there only after it
        for (auto const i : block.ops.ids())
            if (in_loop[i]) step_of_[i] = ++last_;
        loop_end_ = last_;
        for (auto const i : block.ops.ids())
            if (!in_loop[i]) step_of_[i] = ++last_;
    }
    [[nodiscard]] std::int64_t peak_bytes() const {
        std::vector<std::int64_t> live(static_cast<std::size_t>(last_) + 1);
        for (auto const t : tensors_.ids())
            for (auto step = birth(t); step <= death(t); ++step)
                live[static_cast<std::size_t>(step)] += element_count(tensors_[t].shape);
        return std::ranges::max(live) * info(block_.dtype).size_bytes;
    }

private:
    [[nodiscard]] bool has_loop() const { return block_.schedule.loop > 1; }
    [[nodiscard]] bool is_accumulated(TensorId tensor) const {
        auto const maker = tensors_[tensor].maker;
        return maker != no_op && is_accumulator(info(block_.ops[maker].code));
    }
    [[nodiscard]] int birth(TensorId tensor) const {
        auto const maker = tensors_[tensor].maker;
        if (maker == no_op || (has_loop() && is_accumulated(tensor))) return 0;
        return step_of_[maker];
    }
    [[nodiscard]] int death(TensorId tensor) const {
        if (std::ranges::find(block_.outputs, tensor) != block_.outputs.end()) return last_;
        auto last = birth(tensor);
        if (has_loop() && (tensors_[tensor].maker == no_op || is_accumulated(tensor))) last = loop_end_;
        for (auto const i : block_.ops.ids())
            if (std::ranges::count(block_.ops[i].inputs, tensor)) last = std::max(last, step_of_[i]);
        return last;
    }

    Graph const& block_;
    TensorInfos const& tensors_;
    base::IndexedVector<OpId, int> step_of_; ///< each op
    int loop_end_ = 0;
    int last_ = 0;
};

bool is_counted(Op const& op) {
    auto const& row = info(op.code);
    return op.code != OpCode::accumulate && !(is_pointwise(row) && row.inputs == 1);
}

} // namespace

std::int64_t shared_memory_bytes(Graph const& block) {
    ESP_EXPECT(block.level == Level::block);
    auto const tensors = infer(block);
    return Timeline(block, tensors).peak_bytes();
}

std::int64_t shared_memory_sum_bytes(Graph const& block) {
    ESP_EXPECT(block.level == Level::block);
    auto const plain = inline_thread_graphs(block);
    std::int64_t count = 0;
    for (auto const& tensor : infer(plain))
        if (tensor.maker == no_op || is_counted(plain.ops[tensor.maker])) count += element_count(tensor.shape);
    return count * info(block.dtype).size_bytes;
}

} // namespace espalier::program
