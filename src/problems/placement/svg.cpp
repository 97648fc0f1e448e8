#include "holdings.hpp"
#include "pictures.hpp"

#include "espalier/base/markup.hpp"
#include "espalier/base/units.hpp"

#include <fmt/ranges.h>

#include <algorithm>

namespace espalier::problems::placement {
namespace {

constexpr std::size_t shown_devices = 64;
constexpr double top = 58, cell_width = 13, cell_height = 26, pitch = 16, band = 20, step_height = 66;

/// Hues that differ for neighbours.
int hue(std::size_t group) { return static_cast<int>(group * 137 % 360); }

std::string label(double x, double y, std::string const& text, std::string_view more = {}) {
    return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\"{}>{}</text>\n", x, y, more, base::escaped(text));
}

class Picture {
public:
    Picture(Pair const& pair, Result const& result)
        : pair_(pair), result_(result), lowered_(pair.lower(result.program)),
          costs_(
              reduction::step_costs(lowered_, pair.hierarchy, static_cast<double>(pair.payload), pair.start_share())),
          all_(static_cast<std::size_t>(reduction::devices(pair.hierarchy))), count_(std::min(all_, shown_devices)) {
        place_devices();
        for (auto const& group : pair.groups)
            for (std::size_t i = 0; i < group.size(); ++i)
                if (is_shown(group[i])) member_[static_cast<std::size_t>(group[i])] = i;
    }

    std::string draw() const {
        auto const head = top + band * static_cast<double>(pair_.hierarchy.size());
        auto const height = head + step_height * static_cast<double>(lowered_.size() + 1) + 8;
        auto const width = std::max(760.0, x_.back() + pitch + 20);
        auto text =
            fmt::format("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" width=\"{0:.0f}\" "
                        "height=\"{1:.0f}\" font-family=\"sans-serif\" font-size=\"12\">\n"
                        "<title>{2}</title>\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
                        width, height, base::escaped(reduction::text(result_.program, pair_.names)));
        text += heading() + hierarchy();
        Holdings holdings(pair_);
        text += label(20, head + 22, "at the beginning") + devices(head + 28, nullptr, holdings);
        for (std::size_t i = 0; i < lowered_.size(); ++i) {
            auto const y = head + step_height * static_cast<double>(i + 1);
            holdings.apply(result_.program[i]);
            text += label(20, y + 22, step_text(i)) + devices(y + 28, &lowered_[i], holdings);
        }
        return text + "</svg>\n";
    }

private:
    [[nodiscard]] bool is_shown(int device) const { return static_cast<std::size_t>(device) < count_; }
    /// Gaps between instances of outer levels make the hierarchy visible.
    void place_devices() {
        std::size_t longest = 4;
        for (auto const& level : pair_.hierarchy) longest = std::max(longest, level.name.size());
        auto x = 32 + 8 * static_cast<double>(std::min<std::size_t>(longest, 24));
        for (std::size_t device = 0; device < count_; ++device) {
            std::size_t block = 1;
            for (auto level = pair_.hierarchy.size(); device > 0 && level-- > 1;) {
                block *= static_cast<std::size_t>(pair_.hierarchy[level].size);
                if (device % block == 0) x += 8;
            }
            x_.push_back(x);
            x += pitch;
        }
        member_.assign(count_, 0);
    }
    [[nodiscard]] std::string heading() const {
        auto const segments = result_.segments > 1 ? fmt::format(" in {} segments", result_.segments) : std::string();
        auto const first = all_ > count_ ? fmt::format("; the first {} of {} devices", count_, all_) : std::string();
        return label(20, 22,
                     fmt::format("{} {}: {:.2f} us{}", pair_.matrix_text(), pair_.reduction_text(),
                                 result_.predicted_us, segments),
                     " font-weight=\"bold\"") +
               label(20, 42,
                     fmt::format("colour: who works together in a step; height: share of the {} that a device holds "
                                 "after it{}",
                                 base::format_bytes(pair_.payload), first),
                     " fill=\"#555\"");
    }
    /// A band for each level, with a box for each of its instances.
    [[nodiscard]] std::string hierarchy() const {
        std::string text;
        auto block = all_;
        for (std::size_t level = 0; level < pair_.hierarchy.size(); ++level) {
            block /= static_cast<std::size_t>(pair_.hierarchy[level].size);
            auto const y = top + band * static_cast<double>(level);
            text += label(20, y + 13, pair_.hierarchy[level].name.substr(0, 24), " fill=\"#555\"");
            for (std::size_t from = 0; from < count_; from += block) {
                auto const to = std::min(from + block, count_) - 1;
                auto const width = x_[to] - x_[from] + cell_width;
                text += fmt::format("<rect x=\"{:.0f}\" y=\"{:.0f}\" width=\"{:.0f}\" height=\"{:.0f}\" rx=\"3\" "
                                    "fill=\"#eef1f5\" stroke=\"#8894a4\"/>\n",
                                    x_[from], y, width, band - 3);
                auto const number = fmt::format("{}", from / block);
                if (width > 5.5 * static_cast<double>(number.size()))
                    text += label(x_[from] + width / 2, y + 12.5, number,
                                  " text-anchor=\"middle\" font-size=\"9\" fill=\"#445\"");
            }
        }
        return text;
    }
    [[nodiscard]] std::string step_text(std::size_t i) const {
        auto text = fmt::format("{}. {}  {:.2f} us; busiest link of a", i + 1,
                                reduction::text({result_.program[i]}, pair_.names), 1e6 * costs_[i].seconds);
        for (std::size_t level = 0; level < pair_.hierarchy.size(); ++level)
            text += fmt::format("{} {}: {}", level > 0 ? "," : "", pair_.hierarchy[level].name,
                                base::human_bytes(costs_[i].level_bytes[level]));
        return text;
    }
    /// `step` null: nobody works with anybody yet.
    [[nodiscard]] std::string devices(double y, reduction::LoweredStep const* step, Holdings const& holdings) const {
        std::vector<int> hues(count_, -1);
        for (std::size_t g = 0; step != nullptr && g < step->groups.size(); ++g)
            for (auto const device : step->groups[g])
                if (is_shown(device)) hues[static_cast<std::size_t>(device)] = hue(g);
        std::string text;
        for (std::size_t device = 0; device < count_; ++device) {
            auto const chunks = holdings.chunks(member_[device]).size();
            auto const share = static_cast<double>(chunks) / static_cast<double>(holdings.count());
            auto const paint = [&](int lightness) {
                return hues[device] < 0 ? fmt::format("hsl(0, 0%, {}%)", lightness)
                                        : fmt::format("hsl({}, 65%, {}%)", hues[device], lightness);
            };
            auto const filled = share > 0 ? std::max(2.0, share * cell_height) : 0;
            text += fmt::format("<g><title>device {}: {} of {} chunks</title>"
                                "<rect x=\"{:.0f}\" y=\"{:.0f}\" width=\"{:.0f}\" height=\"{:.0f}\" fill=\"{}\" "
                                "stroke=\"{}\"/><rect x=\"{:.0f}\" y=\"{:.1f}\" width=\"{:.0f}\" height=\"{:.1f}\" "
                                "fill=\"{}\"/></g>\n",
                                device, chunks, holdings.count(), x_[device], y, cell_width, cell_height, paint(93),
                                paint(45), x_[device], y + cell_height - filled, cell_width, filled, paint(58));
        }
        return text;
    }

    Pair const& pair_;
    Result const& result_;
    reduction::Lowered lowered_;
    std::vector<reduction::StepCost> costs_;
    std::size_t all_, count_;
    std::vector<double> x_;           ///< of devices
    std::vector<std::size_t> member_; ///< of its reduction group, by device
};

} // namespace

std::string svg(Pair const& pair, Result const& result) { return Picture(pair, result).draw(); }

} // namespace espalier::problems::placement
