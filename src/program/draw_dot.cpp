#include "draw_picture.hpp"
#include "espalier/program/draw.hpp"

#include <fmt/format.h>

namespace espalier::program {
namespace {

using draw::Edge;
using draw::Node;
using draw::Picture;

struct Colours {
    std::string_view node, panel, line;
};
constexpr std::array<Colours, 3> colours_of_level{
    {{"#dbe9f9", "#f6f9fd", "#2f6fb2"}, {"#fde7cf", "#fff8ef", "#c26a12"}, {"#d9f0dc", "#f3fbf4", "#2f8741"}}};
Colours const& colours(Level level) { return colours_of_level[static_cast<std::size_t>(level)]; }

std::string quoted(std::string_view text) {
    std::string out = "\"";
    for (auto const c : text) {
        if (c == '"' || c == '\\') out += '\\';
        out += static_cast<unsigned char>(c) < ' ' ? '?' : c;
    }
    return out + '"';
}

/// Writes pictures as clusters. Arrows go from and to the nodes inside a cluster, never to the cluster.
class DotWriter {
public:
    std::string run(Picture const& picture) {
        out_ = "digraph program {\n"
               "  rankdir=TB; fontname=\"Helvetica\"; labeljust=l;\n"
               "  node [shape=box, style=\"rounded,filled\", fontname=\"Helvetica\", fontsize=11];\n"
               "  edge [fontname=\"Helvetica\", fontsize=9];\n";
        write(picture, "n", 1);
        return out_ + "}\n";
    }

private:
    template <class... Args>
    void line(int depth, fmt::format_string<Args...> format, Args&&... args) {
        out_ += std::string(static_cast<std::size_t>(2 * depth), ' ') +
                fmt::format(format, std::forward<Args>(args)...) + "\n";
    }
    void write(Picture const& picture, std::string const& path, int depth) {
        for (std::size_t i = 0; i < picture.nodes.size(); ++i) write_node(picture, i, path, depth);
        for (auto const& edge : picture.edges)
            line(depth, "{} -> {} [label={}, color={}];", source(picture, edge, path), target(picture, edge, path),
                 quoted(edge.shape), quoted(colours(picture.level).line));
    }
    void write_node(Picture const& picture, std::size_t i, std::string const& path, int depth) {
        auto const& node = picture.nodes[i];
        auto const id = fmt::format("{}_{}", path, i);
        if (auto const* inner = picture.inside(node)) return write_cluster(*inner, id, depth);
        auto label = quoted(node.label);
        if (!node.detail.empty()) label.insert(label.size() - 1, "\\n" + node.detail);
        line(depth, "{} [label={}, fillcolor={}, color={}];", id, label, quoted(colours(picture.level).node),
             quoted(colours(picture.level).line));
    }
    void write_cluster(Picture const& inner, std::string const& id, int depth) {
        line(depth, "subgraph cluster_{} {{", id);
        line(depth + 1, "label={}; style=\"rounded,filled\"; fillcolor={}; color={};", quoted(inner.title),
             quoted(colours(inner.level).panel), quoted(colours(inner.level).line));
        write(inner, id, depth + 1);
        line(depth, "}}");
    }
    static std::string source(Picture const& picture, Edge const& edge, std::string const& path) {
        auto const* inner = picture.inside(picture.nodes[edge.from]);
        auto const id = fmt::format("{}_{}", path, edge.from);
        return inner ? fmt::format("{}_{}", id, inner->output_node(edge.from_port)) : id;
    }
    static std::string target(Picture const& picture, Edge const& edge, std::string const& path) {
        auto const id = fmt::format("{}_{}", path, edge.to);
        return picture.inside(picture.nodes[edge.to]) ? fmt::format("{}_{}", id, edge.to_port) : id;
    }

    std::string out_;
};

} // namespace

std::string to_dot(Graph const& graph) { return DotWriter().run(draw::picture_of(graph)); }

} // namespace espalier::program
