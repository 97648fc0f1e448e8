#include "draw_picture.hpp"

#include "text_parts.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace espalier::program::draw {
namespace {

/// Makes the picture of one graph.
class Painter {
public:
    explicit Painter(Graph const& graph) : graph_(graph), tensors_(infer(graph)) {}

    Picture run() {
        out_.level = graph_.level;
        out_.title = title();
        out_.output_count = graph_.outputs.size();
        for (std::size_t i = 0; i < graph_.inputs.size(); ++i) out_.nodes.push_back(input_node(i));
        for (auto const& op : graph_.ops) out_.nodes.push_back(op_node(op));
        for (auto const id : graph_.outputs) add_output(id);
        return std::move(out_);
    }

private:
    [[nodiscard]] std::string title() const {
        auto const dtype = info(graph_.dtype).name;
        if (graph_.level == Level::kernel) return fmt::format("program {}", dtype);
        if (graph_.level == Level::thread) return "thread";
        return "kernel " + text::schedule_text(graph_.schedule);
    }
    [[nodiscard]] Node input_node(std::size_t i) const {
        if (graph_.level == Level::thread) return {"load", "", -1};
        if (graph_.level == Level::block) return {"tile", trimmed(text::partition_text(graph_.schedule.inputs[i])), -1};
        auto const& name = graph_.inputs[i].name;
        return {name.empty() ? fmt::format("t{}", i) : name, "input", -1};
    }
    Node op_node(Op const& op) {
        for (std::size_t k = 0; k < op.inputs.size(); ++k) add_edge(op.inputs[k], k);
        if (op.code != OpCode::graph)
            return {std::string(info(op.code).name), trimmed(text::attributes_text(op.attributes)), -1};
        out_.inner.push_back(picture_of(graph_.bodies[static_cast<std::size_t>(op.body)]));
        return {out_.inner.back().title, "", static_cast<int>(out_.inner.size()) - 1};
    }
    void add_output(TensorId id) {
        add_edge(id, 0);
        auto const is_block = graph_.level == Level::block;
        out_.nodes.push_back({graph_.level == Level::kernel ? "output" : "store",
                              is_block ? trimmed(text::join_text(graph_.schedule)) : "", -1});
    }
    /// To the node that is added next.
    void add_edge(TensorId id, std::size_t port) {
        auto const& tensor = tensors_[id];
        auto const inputs = graph_.inputs.size();
        auto const from = tensor.maker == no_op ? static_cast<std::size_t>(id.value)
                                                : inputs + static_cast<std::size_t>(tensor.maker.value);
        out_.edges.push_back(
            {from, static_cast<std::size_t>(tensor.output), out_.nodes.size(), port, to_text(tensor.shape)});
    }
    static std::string trimmed(std::string const& text) { return text.empty() ? text : text.substr(1); }

    Graph const& graph_;
    TensorInfos tensors_;
    Picture out_;
};

} // namespace

Picture picture_of(Graph const& graph) { return Painter(graph).run(); }

} // namespace espalier::program::draw
