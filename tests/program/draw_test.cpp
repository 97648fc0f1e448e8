#include "espalier/program/draw.hpp"

#include "program/samples.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <sstream>

namespace espalier::program {
namespace {

using namespace samples;
using testing::HasSubstr;

std::size_t count_of(std::string const& text, std::string_view part) {
    std::size_t count = 0;
    for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
    return count;
}

/// The name of a tag that is not closed, or closed without being open.
std::optional<std::string> unmatched_tag(std::string const& xml) {
    std::vector<std::string> open;
    for (auto at = xml.find('<'); at != std::string::npos; at = xml.find('<', at + 1)) {
        auto const tag = xml.substr(at + 1, xml.find('>', at) - at - 1);
        auto const closes = tag.starts_with('/');
        auto const name = tag.substr(closes ? 1 : 0, tag.find(' ') - (closes ? 1 : 0));
        if (tag.ends_with('/')) continue;
        if (!closes) {
            open.push_back(name);
            continue;
        }
        if (open.empty() || open.back() != name) return name;
        open.pop_back();
    }
    return open.empty() ? std::nullopt : std::optional(open.back());
}

TEST(Svg, is_well_formed) {
    for (auto const& graph : all_programs()) {
        auto const svg = to_svg(graph);

        EXPECT_EQ(unmatched_tag(svg), std::nullopt) << svg;
        EXPECT_EQ(count_of(svg, "<"), count_of(svg, ">"));
        EXPECT_TRUE(svg.starts_with("<svg xmlns="));
        EXPECT_EQ(svg.find("nan"), std::string::npos);
    }
}

TEST(Svg, shows_all_levels_with_titles_shapes_and_a_legend) {
    auto const svg = to_svg(with_thread_graphs(fused_gated_mlp()));

    for (auto const* part :
         {"kernel grid [64] loop 64 threads 128", ">thread<", ">silu<", "[4096, 4096]", "(grid x: 1, loop: 0)",
          "device memory", "shared memory", "registers", "prefers-color-scheme: dark", "panel block", "panel thread"})
        EXPECT_THAT(svg, HasSubstr(part));
}

TEST(Svg, has_an_arrow_for_each_operand) {
    // kernel: 2 operands and the output; block: matmul 2, two accumulators, div 2 and the store
    EXPECT_EQ(count_of(to_svg(fused_rmsnorm()), "class=\"edge\""), 3u + 7u);
}

TEST(Svg, escapes_names) {
    auto graph = fused_rmsnorm();
    graph.inputs[0].name = "<X> & \"Y\"";

    EXPECT_THAT(to_svg(graph), HasSubstr("&lt;X&gt; &amp; &quot;Y&quot;"));
    EXPECT_EQ(unmatched_tag(to_svg(graph)), std::nullopt);
}

TEST(Dot, has_a_cluster_for_each_graph_inside) {
    auto const dot = to_dot(with_thread_graphs(fused_gated_mlp()));

    EXPECT_EQ(count_of(dot, "subgraph cluster_"), 2u);
    EXPECT_EQ(count_of(dot, "{"), count_of(dot, "}"));
    EXPECT_THAT(dot, HasSubstr("label=\"kernel grid [64] loop 64 threads 128\""));
    EXPECT_THAT(dot, HasSubstr("n_0 -> n_3_0 [label=\"[8, 4096]\"")) << "from X to its tile";
}

TEST(Dot, every_arrow_ends_at_a_node) {
    for (auto const& graph : all_programs()) {
        auto const dot = to_dot(graph);
        std::istringstream words(dot);
        std::string before, word;
        while (words >> word) {
            auto const is_end = before == "->";
            EXPECT_TRUE(!is_end || dot.find("  " + word + " [label=") != std::string::npos) << word;
            auto const is_begin = word == "->";
            EXPECT_TRUE(!is_begin || dot.find("  " + before + " [label=") != std::string::npos) << before;
            before = word;
        }
    }
}

TEST(Dot, escapes_names) {
    auto graph = fused_rmsnorm();
    graph.inputs[0].name = "a \"b\"";

    EXPECT_THAT(to_dot(graph), HasSubstr(R"(label="a \"b\"\ninput")"));
}

} // namespace
} // namespace espalier::program
