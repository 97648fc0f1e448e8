#include "draw_layout.hpp"
#include "espalier/base/markup.hpp"
#include "espalier/program/draw.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace espalier::program {
namespace {

using base::escaped;
using draw::Layout;
using draw::Picture;
using draw::Point;
using draw::Rect;

constexpr double legend_height = 30;
constexpr double smallest_width = 510; ///< of the legend

/// Colours by level, for light and dark pages.
constexpr std::string_view style = R"(<style>
svg { background: #ffffff; font-family: system-ui, -apple-system, "Segoe UI", Helvetica, Arial, sans-serif; }
text { fill: #1c2733; font-size: 13px; }
.detail { font-size: 11px; fill: #43525f; }
.title { font-size: 13px; font-weight: 600; }
.kernel { fill: #dbe9f9; stroke: #2f6fb2; } .block { fill: #fde7cf; stroke: #c26a12; } .thread { fill: #d9f0dc; stroke: #2f8741; }
.panel.kernel { fill: #ffffff; stroke: none; } .panel.block { fill: #fff8ef; } .panel.thread { fill: #f3fbf4; }
.halo { paint-order: stroke; stroke-width: 4px; stroke-linejoin: round; fill: #1c2733; }
.halo.kernel { stroke: #ffffff; } .halo.block { stroke: #fff8ef; } .halo.thread { stroke: #f3fbf4; }
.edge { fill: none; stroke: #5b6b78; stroke-width: 1.3; } .arrow { fill: #5b6b78; }
@media (prefers-color-scheme: dark) {
svg { background: #14191f; }
text { fill: #e8eef4; }
.detail { fill: #b4c0cb; }
.kernel { fill: #1f3a57; stroke: #6aa9ea; } .block { fill: #533210; stroke: #e59a4a; } .thread { fill: #1d4527; stroke: #6cc580; }
.panel.kernel { fill: #14191f; } .panel.block { fill: #261a0e; } .panel.thread { fill: #122318; }
.halo { fill: #e8eef4; } .halo.kernel { stroke: #14191f; } .halo.block { stroke: #261a0e; } .halo.thread { stroke: #122318; }
.edge { stroke: #9fb0bf; } .arrow { fill: #9fb0bf; }
}
</style>
<defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path class="arrow" d="M0 0 L8 4 L0 8 z"/></marker></defs>
)";

std::string_view level_name(Level level) { return level_names[static_cast<std::size_t>(level)]; }

/// Writes all panels, then all arrows, then all nodes and texts, so that nothing hides what is to be read.
class SvgWriter {
public:
    std::string run(Picture const& picture, Layout const& layout) {
        auto const width = std::max(layout.width, smallest_width), height = layout.height + legend_height;
        out_ = fmt::format("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
                           "viewBox=\"0 0 {0:.0f} {1:.0f}\" role=\"img\">\n<title>{2}</title>\n",
                           width, height, escaped(picture.title));
        out_ += style;
        rect({0, 0, width, height}, "panel kernel", 0);
        write_panels(picture, layout, {0, 0});
        write_edges(picture, layout, {0, 0});
        write_nodes(picture, layout, {0, 0});
        write_legend(layout.height);
        return out_ + "</svg>\n";
    }

private:
    void rect(Rect const& at, std::string_view classes, double radius) {
        out_ += fmt::format(
            "<rect class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" rx=\"{:.0f}\"/>\n",
            classes, at.x, at.y, at.width, at.height, radius);
    }
    void text(Point at, std::string_view classes, std::string_view anchor, std::string const& content) {
        out_ += fmt::format("<text class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", classes,
                            at.x, at.y, anchor, escaped(content));
    }
    /// Calls `work` for every picture directly inside, with its place.
    template <class Work>
    void each_inner(Picture const& picture, Layout const& layout, Point origin, Work work) {
        for (std::size_t i = 0; i < picture.nodes.size(); ++i)
            if (auto const* inner = picture.inside(picture.nodes[i]))
                work(*inner, layout.inner[static_cast<std::size_t>(picture.nodes[i].inner)],
                     moved(layout.nodes[i], origin));
    }
    static Rect moved(Rect at, Point by) { return {at.x + by.x, at.y + by.y, at.width, at.height}; }

    void write_panels(Picture const& picture, Layout const& layout, Point origin) {
        each_inner(picture, layout, origin, [&](Picture const& inner, Layout const& inside, Rect const& at) {
            rect(at, fmt::format("panel {}", level_name(inner.level)), 10);
            write_panels(inner, inside, {at.x, at.y});
        });
    }
    void write_edges(Picture const& picture, Layout const& layout, Point origin) {
        for (auto const& edge : layout.edges) write_edge(edge, origin);
        each_inner(picture, layout, origin, [&](Picture const& inner, Layout const& inside, Rect const& at) {
            write_edges(inner, inside, {at.x, at.y});
        });
    }
    void write_nodes(Picture const& picture, Layout const& layout, Point origin) {
        text({origin.x + draw::padding, origin.y + draw::padding + 5},
             fmt::format("title halo {}", level_name(picture.level)), "start", picture.title);
        for (std::size_t i = 0; i < picture.nodes.size(); ++i)
            if (!picture.inside(picture.nodes[i]))
                write_node(picture.nodes[i], level_name(picture.level), moved(layout.nodes[i], origin));
        write_shapes(picture, layout, origin);
        each_inner(picture, layout, origin, [&](Picture const& inner, Layout const& inside, Rect const& at) {
            write_nodes(inner, inside, {at.x, at.y});
        });
    }
    void write_node(draw::Node const& node, std::string_view level, Rect const& at) {
        rect(at, level, 7);
        text({at.centre(), at.y + 18}, "label", "middle", node.label);
        if (!node.detail.empty()) text({at.centre(), at.y + 34}, "detail", "middle", node.detail);
    }
    void write_edge(std::vector<Point> const& points, Point origin) {
        auto path = fmt::format("M{:.1f} {:.1f}", origin.x + points[0].x, origin.y + points[0].y);
        for (std::size_t i = 1; i < points.size(); ++i) {
            auto const &a = points[i - 1], &b = points[i];
            auto const bend = (b.y - a.y) / 2;
            path += fmt::format(" C{:.1f} {:.1f} {:.1f} {:.1f} {:.1f} {:.1f}", origin.x + a.x, origin.y + a.y + bend,
                                origin.x + b.x, origin.y + b.y - bend, origin.x + b.x, origin.y + b.y);
        }
        out_ += fmt::format("<path class=\"edge\" marker-end=\"url(#arrow)\" d=\"{}\"/>\n", path);
    }
    /// Once for each tensor, below what makes it.
    void write_shapes(Picture const& picture, Layout const& layout, Point origin) {
        std::set<std::pair<std::size_t, std::size_t>> done;
        for (std::size_t e = 0; e < picture.edges.size(); ++e) {
            auto const& edge = picture.edges[e];
            if (!done.emplace(edge.from, edge.from_port).second) continue;
            Point const at{origin.x + layout.edges[e].front().x + 5, origin.y + layout.nodes[edge.from].bottom() + 14};
            text(at, fmt::format("detail halo {}", level_name(picture.level)), "start", edge.shape);
        }
    }
    void write_legend(double y) {
        constexpr std::array<std::string_view, 3> memories{"device memory", "shared memory", "registers"};
        double x = draw::padding;
        for (auto const level : {Level::kernel, Level::block, Level::thread}) {
            rect({x, y + 4, 14, 14}, level_name(level), 3);
            text({x + 20, y + 15}, "detail", "start",
                 fmt::format("{}: {}", level_name(level), memories[static_cast<std::size_t>(level)]));
            x += 168;
        }
    }

    std::string out_;
};

} // namespace

std::string to_svg(Graph const& graph) {
    auto const picture = draw::picture_of(graph);
    return SvgWriter().run(picture, draw::layout_of(picture));
}

} // namespace espalier::program
