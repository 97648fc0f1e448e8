#include "draw_layout.hpp"

#include <algorithm>
#include <map>

namespace espalier::program::draw {
namespace {

constexpr double gap = 26;       ///< between nodes of a layer
constexpr double layer_gap = 40; ///< room for arrows and shapes
constexpr double lane_width = 10;
constexpr double label_letter = 7.6, detail_letter = 6.2; ///< about the width of a character
constexpr std::size_t rounds = 8;

double text_width(std::string const& text, double letter) { return static_cast<double>(text.size()) * letter; }

/// What an arrow comes from or goes to, and how far to the right it is fixed there: 0 to 1.
struct Neighbour {
    std::size_t item = 0;
    double port = 0;
};

/// A node, or the point where a long arrow crosses a layer.
struct Item {
    double width = 0, height = 0;
    std::size_t layer = 0;
    double x = 0;                                     ///< left
    double order = 0;                                 ///< in its layer
    std::array<std::vector<Neighbour>, 2> neighbours; ///< above and below
};

class Placer {
public:
    explicit Placer(Picture const& picture) : picture_(picture) {}

    Layout run() {
        for (auto const& inner : picture_.inner) out_.inner.push_back(layout_of(inner));
        for (auto const& node : picture_.nodes) items_.push_back(sized(node));
        widen_for_shapes();
        choose_layers();
        for (auto const& edge : picture_.edges) add_chain(edge);
        fill_layers();
        for (std::size_t i = 0; i < rounds; ++i) order_layers(i % 2);
        for (std::size_t i = 0; i < rounds; ++i) align_layers();
        place_nodes();
        for (std::size_t e = 0; e < picture_.edges.size(); ++e) out_.edges.push_back(route(e));
        return std::move(out_);
    }

private:
    [[nodiscard]] Item sized(Node const& node) const {
        if (node.inner >= 0) {
            auto const& inner = out_.inner[static_cast<std::size_t>(node.inner)];
            return {inner.width, inner.height};
        }
        auto const width = std::max(text_width(node.label, label_letter), text_width(node.detail, detail_letter));
        return {width + 24, node.detail.empty() ? 28.0 : 42.0};
    }
    /// The shape of what a node makes stands below it.
    void widen_for_shapes() {
        for (auto const& edge : picture_.edges) {
            auto& item = items_[edge.from];
            item.width = std::max(item.width, text_width(edge.shape, detail_letter) + 30);
        }
    }
    void choose_layers() {
        for (auto const& edge : picture_.edges)
            items_[edge.to].layer = std::max(items_[edge.to].layer, items_[edge.from].layer + 1);
        std::size_t last = 0;
        for (auto const& item : items_) last = std::max(last, item.layer);
        for (std::size_t k = 0; k < picture_.output_count; ++k) items_[picture_.output_node(k)].layer = last;
        layers_.resize(last + 1);
    }
    static double fraction(std::size_t port) { return 1 - 1 / static_cast<double>(port + 1); }
    void add_chain(Edge const& edge) {
        std::vector<std::size_t> chain{edge.from};
        for (auto layer = items_[edge.from].layer + 1; layer < items_[edge.to].layer; ++layer) {
            chain.push_back(items_.size());
            items_.push_back({lane_width, 0, layer});
        }
        chain.push_back(edge.to);
        for (std::size_t i = 1; i < chain.size(); ++i) {
            auto const from_port = i == 1 ? fraction(edge.from_port) : 0;
            auto const to_port = i + 1 == chain.size() ? fraction(edge.to_port) : 0;
            items_[chain[i]].neighbours[0].push_back({chain[i - 1], from_port});
            items_[chain[i - 1]].neighbours[1].push_back({chain[i], to_port});
        }
        chains_.push_back(std::move(chain));
    }
    void fill_layers() {
        for (std::size_t i = 0; i < items_.size(); ++i) layers_[items_[i].layer].push_back(i);
        for (auto const& layer : layers_) number(layer);
    }
    void number(std::vector<std::size_t> const& layer) {
        for (std::size_t i = 0; i < layer.size(); ++i) items_[layer[i]].order = static_cast<double>(i);
    }
    /// Every item towards the mean place of its neighbours above (0) or below (1). Inputs and outputs of a body keep
    /// their order, which is that of the arrows around it.
    void order_layers(std::size_t side) {
        auto const fixed = picture_.level == Level::kernel ? 0u : 1u;
        for (std::size_t k = fixed; k + fixed < layers_.size(); ++k)
            order_layer(layers_[side == 0 ? k : layers_.size() - 1 - k], side);
    }
    void order_layer(std::vector<std::size_t>& layer, std::size_t side) {
        std::map<std::size_t, double> wishes;
        for (auto const i : layer) wishes[i] = wished_order(items_[i], side);
        std::ranges::stable_sort(layer, {}, [&](std::size_t i) { return wishes[i]; });
        number(layer);
    }
    [[nodiscard]] double wished_order(Item const& item, std::size_t side) const {
        auto const& neighbours = item.neighbours[side];
        if (neighbours.empty()) return item.order;
        double sum = 0;
        for (auto const& [other, port] : neighbours) sum += items_[other].order + port;
        return sum / static_cast<double>(neighbours.size());
    }
    [[nodiscard]] double centre(std::size_t i) const { return items_[i].x + items_[i].width / 2; }
    [[nodiscard]] double wish(std::size_t i) const {
        double sum = 0, count = 0;
        for (auto const& side : items_[i].neighbours)
            for (auto const& other : side) {
                sum += centre(other.item);
                ++count;
            }
        return count > 0 ? sum / count : centre(i);
    }
    /// Every layer in its order, as near to what its items wish as there is room.
    void align_layers() {
        for (auto const& layer : layers_) {
            double left = -1e9, shift = 0;
            std::vector<double> wishes;
            for (auto const i : layer) wishes.push_back(wish(i));
            for (std::size_t k = 0; k < layer.size(); ++k) {
                auto& item = items_[layer[k]];
                item.x = std::max(wishes[k] - item.width / 2, left);
                left = item.x + item.width + gap;
                shift += wishes[k] - centre(layer[k]);
            }
            for (auto const i : layer) items_[i].x += shift / static_cast<double>(layer.size());
        }
    }
    void place_nodes() {
        double left = 1e9, right = -1e9, y = padding + title_height;
        for (auto const& item : items_) {
            left = std::min(left, item.x);
            right = std::max(right, item.x + item.width);
        }
        std::vector<double> tops;
        for (auto const& layer : layers_) {
            double height = 0;
            for (auto const i : layer) height = std::max(height, items_[i].height);
            tops.push_back(y);
            y += height + layer_gap;
        }
        for (auto& item : items_) {
            item.x += padding - left;
            rects_.push_back({item.x, tops[item.layer], item.width, item.height});
        }
        out_.nodes.assign(rects_.begin(), rects_.begin() + static_cast<std::ptrdiff_t>(picture_.nodes.size()));
        out_.width = std::max(right - left, text_width(picture_.title, label_letter)) + 2 * padding;
        out_.height = y - layer_gap + padding;
    }

    [[nodiscard]] std::vector<Point> route(std::size_t e) const {
        auto const& edge = picture_.edges[e];
        std::vector<Point> out{start(edge)};
        auto const& from = rects_[edge.from];
        if (out.front().y < from.bottom() + 1) out.push_back({out.front().x, from.bottom() + 1});
        for (std::size_t k = 1; k + 1 < chains_[e].size(); ++k) pass_layer(out, rects_[chains_[e][k]]);
        auto const last = end(edge);
        auto const& to = rects_[edge.to];
        if (last.y > to.y) out.push_back({last.x, to.y});
        out.push_back(last);
        return out;
    }
    /// A lane runs straight along the whole layer.
    void pass_layer(std::vector<Point>& out, Rect const& lane) const {
        double height = 0;
        for (auto const& rect : rects_)
            if (rect.y == lane.y) height = std::max(height, rect.height);
        out.push_back({lane.centre(), lane.y});
        out.push_back({lane.centre(), lane.y + height});
    }
    [[nodiscard]] Point start(Edge const& edge) const {
        auto const& rect = rects_[edge.from];
        auto const* inside = picture_.inside(picture_.nodes[edge.from]);
        if (!inside) return {rect.centre(), rect.bottom()};
        auto const& inner = inner_layout(edge.from).nodes[inside->output_node(edge.from_port)];
        return {rect.x + inner.centre(), rect.y + inner.bottom()};
    }
    [[nodiscard]] Point end(Edge const& edge) const {
        auto const& rect = rects_[edge.to];
        if (picture_.inside(picture_.nodes[edge.to])) {
            auto const& inner = inner_layout(edge.to).nodes[edge.to_port];
            return {rect.x + inner.centre(), rect.y + inner.y};
        }
        auto const operands = std::ranges::count(picture_.edges, edge.to, &Edge::to);
        return {rect.x + rect.width * static_cast<double>(edge.to_port + 1) / static_cast<double>(operands + 1),
                rect.y};
    }
    [[nodiscard]] Layout const& inner_layout(std::size_t node) const {
        return out_.inner[static_cast<std::size_t>(picture_.nodes[node].inner)];
    }

    Picture const& picture_;
    Layout out_;
    std::vector<Item> items_; ///< nodes, then crossings
    std::vector<std::vector<std::size_t>> layers_;
    std::vector<std::vector<std::size_t>> chains_; ///< of each edge: from, crossings, to
    std::vector<Rect> rects_;                      ///< of each item
};

} // namespace

Layout layout_of(Picture const& picture) { return Placer(picture).run(); }

} // namespace espalier::program::draw
