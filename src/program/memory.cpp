#include "espalier/base/contract.hpp"
#include "espalier/program/graph.hpp"

#include <algorithm>

namespace espalier::program {
namespace {

/// The steps of a block's execution, in order: the ops of the loop, then those after it. Step 0 loads the inputs.
class Timeline {
public:
    Timeline(Graph const& block, std::vector<TensorInfo> const& tensors)
        : block_(block), tensors_(tensors), step_of_(block.ops.size()) {
        for (std::size_t i = 0; i < block.ops.size(); ++i)
            if (is_in_loop(i)) step_of_[i] = ++last_;
        loop_end_ = last_;
        for (std::size_t i = 0; i < block.ops.size(); ++i)
            if (!is_in_loop(i)) step_of_[i] = ++last_;
    }
    [[nodiscard]] std::int64_t peak_bytes() const {
        std::vector<std::int64_t> live(static_cast<std::size_t>(last_) + 1);
        for (std::size_t t = 0; t < tensors_.size(); ++t)
            for (auto step = birth(t); step <= death(t); ++step)
                live[static_cast<std::size_t>(step)] += element_count(tensors_[t].shape);
        return std::ranges::max(live) * info(block_.dtype).size_bytes;
    }

private:
    [[nodiscard]] bool has_loop() const { return block_.schedule.loop > 1; }
    /// An accumulator works in the loop, though its value is there only after it.
    [[nodiscard]] bool is_in_loop(std::size_t op) const {
        auto const& inputs = block_.ops[op].inputs;
        return inputs.empty() || !tensors_[static_cast<std::size_t>(inputs.front())].is_after_loop;
    }
    [[nodiscard]] bool is_accumulated(std::size_t tensor) const {
        auto const maker = tensors_[tensor].maker;
        return maker >= 0 && is_accumulator(info(block_.ops[static_cast<std::size_t>(maker)].code));
    }
    [[nodiscard]] int birth(std::size_t tensor) const {
        auto const maker = tensors_[tensor].maker;
        if (maker < 0 || (has_loop() && is_accumulated(tensor))) return 0;
        return step_of_[static_cast<std::size_t>(maker)];
    }
    [[nodiscard]] int death(std::size_t tensor) const {
        auto const id = static_cast<int>(tensor);
        if (std::ranges::find(block_.outputs, id) != block_.outputs.end()) return last_;
        auto last = birth(tensor);
        if (has_loop() && (tensors_[tensor].maker < 0 || is_accumulated(tensor))) last = loop_end_;
        for (std::size_t i = 0; i < block_.ops.size(); ++i)
            if (std::ranges::find(block_.ops[i].inputs, id) != block_.ops[i].inputs.end())
                last = std::max(last, step_of_[i]);
        return last;
    }

    Graph const& block_;
    std::vector<TensorInfo> const& tensors_;
    std::vector<int> step_of_; ///< each op
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
        if (tensor.maker < 0 || is_counted(plain.ops[static_cast<std::size_t>(tensor.maker)]))
            count += element_count(tensor.shape);
    return count * info(block.dtype).size_bytes;
}

} // namespace espalier::program
