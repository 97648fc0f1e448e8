#include "optimize.hpp"

#include "espalier/base/markup.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace espalier::problems::rewrite {
namespace {

constexpr int box_width = 190, box_height = 26, row_height = 44, margin = 30, lane = 12;

std::string dims_text(model::Dims const& dims) { return fmt::format("[{}]", fmt::join(dims, ", ")); }

/// Ops below each other, in order; what is not read by the next one goes around on the right.
struct DrawnGraph {
    std::string svg;
    int height = 0, width = 0;
};

DrawnGraph drawn(Graph const& graph, int x, int y, std::string const& title) {
    DrawnGraph out;
    out.svg = fmt::format("<text x=\"{}\" y=\"{}\" font-weight=\"bold\">{}</text>\n", x, y, base::escaped(title));
    auto const top = [&](std::size_t row) { return y + 16 + static_cast<int>(row) * row_height; };
    auto const box = [&](std::size_t row, std::string const& text, std::string const& fill) {
        out.svg += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"4\" fill=\"{}\" "
                               "stroke=\"#555\"/>\n<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n",
                               x, top(row), box_width, box_height, fill, x + box_width / 2, top(row) + 17,
                               base::escaped(text));
    };
    std::map<ValueId, std::size_t> row_of;
    std::size_t row = 0;
    for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
        row_of[graph.inputs[i]] = row;
        box(row++, fmt::format("input {} {}", i + 1, dims_text(graph.dims(graph.inputs[i]))), "#eef");
    }
    int lanes = 0;
    for (auto const& op : graph.ops) {
        for (auto const id : op.in) {
            auto const from = row_of.find(id);
            if (from == row_of.end()) continue;
            auto const start = top(from->second) + box_height;
            if (from->second + 1 == row) {
                out.svg += fmt::format("<path d=\"M{0} {1}V{2}\" stroke=\"#555\" fill=\"none\" "
                                       "marker-end=\"url(#arrow)\"/>\n",
                                       x + box_width / 2, start, top(row));
                continue;
            }
            auto const right = x + box_width + lane * ++lanes;
            out.svg += fmt::format("<path d=\"M{0} {1}H{2}V{3}H{0}\" stroke=\"#555\" fill=\"none\" "
                                   "marker-end=\"url(#arrow)\"/>\n",
                                   x + box_width, start - box_height / 2, right, top(row) + box_height / 2);
        }
        for (auto const id : op.out) row_of[id] = row;
        box(row++, fmt::format("{} {}", op.kernel->op, dims_text(graph.dims(op.out.front()))),
            op.origin ? "#fff" : "#dfd");
    }
    out.height = top(row) - y;
    out.width = box_width + lane * (lanes + 1);
    return out;
}

} // namespace

std::string drawing(Plan const& plan, Variant const& variant) {
    std::string body;
    int y = margin, width = 0;
    Folder folder;
    for (auto const& choice : variant.choices) {
        auto const& before = plan.first_of(choice.family);
        auto const after = plan.follow(before, choice.path, folder);
        if (!after) continue;
        auto const times = plan.families()[choice.family].size();
        auto const left = drawn(before, margin, y,
                                fmt::format("part {}{}", choice.family + 1,
                                            times > 1 ? fmt::format(", {} times in the model", times) : ""));
        auto const right = drawn(*after, 2 * margin + left.width, y, "rewritten");
        body += left.svg + right.svg;
        y += std::max(left.height, right.height) + margin;
        width = std::max(width, 3 * margin + left.width + right.width);
    }
    return fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" "
        "font-family=\"sans-serif\" font-size=\"12\">\n<defs><marker id=\"arrow\" viewBox=\"0 0 8 8\" "
        "refX=\"8\" refY=\"4\" markerWidth=\"8\" markerHeight=\"8\" orient=\"auto\"><path d=\"M0 0L8 4L0 "
        "8z\" fill=\"#555\"/></marker></defs>\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n{2}</svg>\n",
        width, y, body);
}

} // namespace espalier::problems::rewrite
