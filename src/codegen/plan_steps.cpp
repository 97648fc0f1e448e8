#include "plan_steps.hpp"

#include "espalier/base/contract.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace espalier::codegen {
namespace {

using program::Nest;
using program::ScalarNode;

/// The value of an attribute that an expression names, or what it says otherwise.
std::string value_of(program::Attributes const& attributes, std::string_view name, std::string_view otherwise) {
    auto const known = program::find_attribute(name);
    ESP_EXPECT(known);
    auto const* const given = attributes.find(*known);
    return given ? fmt::format("NUMBER({:#})", given->values.front()) : std::string(otherwise);
}

/// `{by=1}` replaced.
std::string with_attributes(std::string_view c, program::Attributes const& attributes) {
    std::string out;
    for (auto open = c.find('{'); open != c.npos; open = c.find('{')) {
        auto const equals = c.find('=', open), close = c.find('}', open);
        out += c.substr(0, open);
        out += value_of(attributes, c.substr(open + 1, equals - open - 1), c.substr(equals + 1, close - equals - 1));
        c.remove_prefix(close + 1);
    }
    return out += c;
}

Term term_of(ScalarNode const& node, program::Attributes const& attributes) {
    using Kind = ScalarNode::Kind;
    Term out{.kind = static_cast<Term::Kind>(node.kind), .read = node.read, .number = node.number};
    if (node.kind != Kind::apply) return out;
    out.c = with_attributes(program::info(node.op).c, attributes);
    out.a = node.a;
    out.b = node.b;
    return out;
}
static_assert(static_cast<int>(Term::Kind::apply) == static_cast<int>(ScalarNode::Kind::apply) &&
              static_cast<int>(Term::Kind::count) == static_cast<int>(ScalarNode::Kind::count));

Formula formula_of(program::ScalarExpression const& expression, program::Attributes const& attributes) {
    Formula out;
    for (auto const& node : expression) out.push_back(term_of(node, attributes));
    return out;
}

/// Loops end where the last tile of what they read does; and so does what is made.
void end_loops(Step& step) {
    auto const rank = static_cast<std::size_t>(step.kept.rank());
    for (auto const& read : step.reads)
        for (std::size_t d = 0; d < read.view.last.size(); ++d)
            for (auto const& digit : read.index[static_cast<int>(d)].digits) {
                if (!read.view.last[d].is_there()) continue;
                step.last.resize(rank + step.reduced.size());
                step.last[digit.loop] = read.view.last[d];
            }
    step.target.last = step.last;
    if (!step.last.empty()) step.target.last.resize(rank);
}

} // namespace

std::int64_t Step::count() const {
    std::int64_t out = 1;
    for (auto const size : reduced) out *= size;
    return out;
}

View whole_view(std::size_t buffer, program::Shape const& shape) {
    View out{.buffer = buffer, .shape = shape, .strides = shape};
    std::int64_t stride = 1;
    for (auto d = shape.rank(); d-- > 0; stride *= shape[d]) out.strides[d] = stride;
    return out;
}

Applied applied(program::Graph const& graph, program::TensorInfos const& tensors, program::OpId op, std::string what) {
    auto const& of = graph.ops[op];
    auto const& row = program::info(of.code);
    std::vector<program::Shape> shapes;
    for (auto const id : of.inputs) shapes.push_back(tensors[id].shape);
    auto const size = of.attributes.whole(program::AttributeName::size, 0);
    return {row, of.attributes, program::meaning_of(row, {shapes, of.attributes, size, graph.schedule.loop}),
            std::move(what)};
}

bool is_in_steps(Nest const& nest) {
    return std::ranges::any_of(nest.reads, [](auto const& read) { return !read.step.digits.empty(); });
}

Step step_of(Applied const& op, Nest const& nest, std::vector<View> const& sources, View const& target) {
    Step out{.what = op.what, .kept = nest.kept, .reducer = nest.reducer, .target = target};
    out.reduced.assign(nest.reduced.begin(), nest.reduced.end());
    for (auto const& read : nest.reads) out.reads.push_back({sources[read.source], read.index, read.outside});
    out.body = formula_of(nest.body, op.attributes);
    out.epilogue = formula_of(nest.epilogue, op.attributes);
    out.is_contraction = op.row.field.access == program::Access::contraction && nest.reads.size() == 2;
    end_loops(out);
    return out;
}

std::optional<std::int64_t> stride_of(Step const& step, Source const& source, std::size_t loop) {
    std::int64_t out = 0;
    for (int d = 0; d < source.index.rank(); ++d)
        for (auto const& digit : source.index[d].digits) {
            if (digit.loop != loop) continue;
            if (digit.below != 1 || digit.size < step.loop_size(loop)) return std::nullopt;
            out += digit.stride * source.view.strides[d];
        }
    return out;
}

Step copy_step(std::string what, View const& from, View const& target) {
    Step out{.what = std::move(what), .kept = from.shape, .target = target};
    Source read{.view = from, .index = program::Dims<program::Position>{}};
    for (int d = 0; d < from.shape.rank(); ++d) {
        program::Position at;
        at.digits.push({.loop = static_cast<std::size_t>(d), .size = from.shape[d]});
        read.index.push(at);
    }
    out.reads = {read};
    out.body = {{}};
    end_loops(out);
    return out;
}

} // namespace espalier::codegen
