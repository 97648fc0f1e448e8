#pragma once

#include "draw_picture.hpp"

/// Where everything of a picture stands: layers from top to bottom, few crossings, long arrows in lanes of their own.
namespace espalier::program::draw {

struct Point {
    double x = 0, y = 0;
};
struct Rect {
    double x = 0, y = 0, width = 0, height = 0;

    [[nodiscard]] double centre() const { return x + width / 2; }
    [[nodiscard]] double right() const { return x + width; }
    [[nodiscard]] double bottom() const { return y + height; }
};
/// In pixels from the top left corner of the picture.
struct Layout {
    double width = 0, height = 0;
    std::vector<Rect> nodes;
    std::vector<std::vector<Point>> edges; ///< corners; arrows are smooth between them
    std::vector<Layout> inner;             ///< of the pictures inside; each fills its node
};
[[nodiscard]] Layout layout_of(Picture const& picture);

inline constexpr double padding = 16;
inline constexpr double title_height = 28;

} // namespace espalier::program::draw
