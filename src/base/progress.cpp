#include "espalier/base/progress.hpp"

#include "espalier/base/log.hpp"
#include "espalier/base/units.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

namespace espalier::base {

std::string progress_text(ProgressRecord const& record) {
    auto text =
        fmt::format("{} | {} nodes | {} nodes/s | queue {} | idle {}/{} | results {}", human_duration(record.elapsed_s),
                    human_count(static_cast<double>(record.nodes)), human_count(record.nodes_per_s), record.queued,
                    record.idle_threads, record.threads, record.results);
    text += std::isfinite(record.best) ? fmt::format(" | best {:.6g}", record.best) : std::string(" | best -");
    if (std::isfinite(record.best) && record.improved_s >= 0)
        text += fmt::format(", {} ago", human_duration(std::max(0.0, record.elapsed_s - record.improved_s)));
    if (!record.stage.empty()) text += " | " + record.stage;
    if (record.lost_ranks > 0) text += fmt::format(" | lost ranks {}", record.lost_ranks);
    return text;
}

ProgressLine::ProgressLine(Options options) : options_(options) {}

ProgressLine::~ProgressLine() { clear(); }

bool ProgressLine::is_due(std::int64_t now_ns) const {
    auto const interval = options_.is_terminal ? options_.redraw : options_.plain;
    return options_.is_enabled && now_ns - last_ns_ >= std::chrono::nanoseconds(interval).count();
}

void ProgressLine::show(ProgressRecord const& record, std::int64_t now_ns) {
    if (!options_.is_enabled) return;
    last_ns_ = now_ns;
    auto const text = progress_text(record);
    log::raw(options_.is_terminal ? fmt::format("\r\033[K{}", text) : fmt::format("{}\n", text));
    is_drawn_ = options_.is_terminal;
}

void ProgressLine::clear() {
    if (is_drawn_) log::raw("\r\033[K");
    is_drawn_ = false;
}

} // namespace espalier::base
