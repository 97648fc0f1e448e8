#include "espalier/base/contract.hpp"
#include "espalier/program/text.hpp"
#include "text_parts.hpp"
#include "text_syntax.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>

namespace espalier::program {
namespace {

using Names = std::vector<std::string>;
using TensorNames = base::IndexedVector<TensorId, std::string>;

/// t7: the name of a tensor that has none of its own.
bool is_number_name(std::string_view name) {
    return name.size() > 1 && name[0] == 't' &&
           std::ranges::all_of(name.substr(1), [](unsigned char c) { return std::isdigit(c) != 0; });
}
std::string number_name(TensorId id) { return fmt::format("t{}", id.value); }

std::string lower(std::string text) {
    for (auto& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return text;
}

bool can_be_name(TensorNames const& taken, std::string const& name) {
    return text::is_word(name) && !is_number_name(name) && std::ranges::find(taken, name) == taken.end();
}

/// The lines of a program, with comments in one column.
class Lines {
public:
    void add(int depth, std::string const& text, std::string comment = "") {
        lines_.push_back({std::string(static_cast<std::size_t>(2 * depth), ' ') + text, std::move(comment)});
    }
    [[nodiscard]] std::string text() const {
        constexpr std::size_t widest = 72;
        std::size_t column = 0;
        for (auto const& line : lines_)
            if (!line.comment.empty() && line.text.size() <= widest) column = std::max(column, line.text.size());
        std::string out;
        for (auto const& line : lines_)
            out += line.comment.empty() ? line.text + "\n"
                                        : fmt::format("{:<{}}  # {}\n", line.text, column, line.comment);
        return out;
    }

private:
    struct Line {
        std::string text;
        std::string comment;
    };
    std::vector<Line> lines_;
};

/// Writes one graph and what is inside.
class Writer {
public:
    Writer(Graph const& graph, int depth, Lines& lines)
        : graph_(graph), depth_(depth), lines_(lines), tensors_(infer(graph)) {}

    void write_kernel() {
        for (auto const& input : graph_.inputs) write_input(input);
        write_ops();
        for (auto const id : graph_.outputs) line(fmt::format("output {}", name(id)));
    }
    /// `operands`: names in the graph around.
    void write_body(Names const& operands) {
        for (std::size_t i = 0; i < operands.size(); ++i) write_operand(i, operands[i]);
        write_ops();
        auto const settings = graph_.level == Level::block ? text::join_text(graph_.schedule) : "";
        for (auto const id : graph_.outputs) line(fmt::format("store {}{}", name(id), settings));
    }

private:
    void line(std::string const& text, std::string const& comment = "") const { lines_.add(depth_, text, comment); }
    [[nodiscard]] std::string const& name(TensorId id) const { return names_[id]; }
    [[nodiscard]] std::string shape(TensorId id) const { return to_text(tensors_[id].shape); }

    void write_input(Input const& input) {
        auto const has_name = can_be_name(names_, input.name);
        names_.push_back(has_name ? input.name : number_name(names_.next()));
        auto const named = has_name || input.name.empty() ? "" : " named " + text::quote(input.name);
        line(fmt::format("{} = input {}{}", names_.back(), to_text(input.shape), named));
    }
    void write_operand(std::size_t i, std::string const& operand) {
        auto const own = lower(operand);
        auto const id = names_.push_back(can_be_name(names_, own) ? own : number_name(names_.next()));
        auto const part = graph_.level == Level::block
                              ? fmt::format("tile {}{}", operand, text::partition_text(graph_.schedule.inputs[i]))
                              : fmt::format("load {}", operand);
        line(fmt::format("{} = {}", names_.back(), part), shape(id));
    }
    void write_ops() {
        for (auto const& op : graph_.ops) {
            Names operands;
            for (auto const id : op.inputs) operands.push_back(name(id));
            if (op.code == OpCode::graph)
                write_graph_op(graph_.bodies[static_cast<std::size_t>(op.body)], operands);
            else
                write_op(op, operands);
        }
    }
    /// Names and shapes of what an op makes, as they are written.
    struct Targets {
        std::string names, shapes;
    };
    Targets add_targets(int count) {
        Targets out;
        for (int i = 0; i < count; ++i) {
            auto const id = names_.push_back(number_name(names_.next()));
            auto const* const comma = i > 0 ? ", " : "";
            out.names += comma + names_[id];
            out.shapes += comma + shape(id);
        }
        return out;
    }
    void write_op(Op const& op, Names const& operands) {
        auto const made = add_targets(info(op.code).outputs);
        line(fmt::format("{} = {} {}{}", made.names, info(op.code).name, fmt::join(operands, " "),
                         text::attributes_text(op.attributes)),
             made.shapes);
    }
    void write_graph_op(Graph const& body, Names const& operands) {
        auto const made = add_targets(static_cast<int>(body.outputs.size()));
        line(fmt::format("{} = {} {{", made.names, header(body)), made.shapes);
        Writer(body, depth_ + 1, lines_).write_body(operands);
        line("}");
    }
    [[nodiscard]] std::string header(Graph const& body) const {
        auto const dtype = body.dtype == graph_.dtype ? "" : fmt::format(" {}", info(body.dtype).name);
        if (body.level == Level::thread) return "thread" + dtype;
        return fmt::format("kernel{} {}", dtype, text::schedule_text(body.schedule));
    }

    Graph const& graph_;
    int depth_;
    Lines& lines_;
    TensorInfos tensors_;
    TensorNames names_;
};

} // namespace

std::string to_text(Graph const& graph) {
    ESP_EXPECT(graph.level == Level::kernel);
    Lines lines;
    lines.add(0, fmt::format("program {}", info(graph.dtype).name));
    Writer(graph, 1, lines).write_kernel();
    return lines.text();
}

} // namespace espalier::program
