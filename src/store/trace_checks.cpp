#include "trace_checks.hpp"

#include "espalier/base/system.hpp"

#include <fmt/format.h>

#include <limits>

namespace espalier::store {
namespace {

constexpr std::int64_t hour_ns = 3'600'000'000'000;
constexpr std::int64_t longest_ns = 10 * 365 * 24 * hour_ns;   ///< of a run
constexpr std::int64_t latest_ns = std::int64_t{1} << 60;      ///< of a clock: 36 years
constexpr std::int64_t latest_wall_ns = std::int64_t{1} << 62; ///< a date: 2116
constexpr std::int32_t most_ranks = 1 << 24;
constexpr std::int32_t most_threads = 65'535;

/// On a shard's clock. Nothing in a trace lies in the future; a day is for clocks that differ.
std::int64_t end_of_time(ShardInfo const& info) {
    return std::min(info.start_ns + longest_ns, base::wall_ns() + 24 * hour_ns - info.wall_minus_steady_ns);
}

struct Range {
    std::int64_t from;
    std::int64_t to;
};

/// Collects the first field that is out of its range.
class Checker {
public:
    Checker& operator()(char const* name, std::int64_t value, Range range) {
        if (found_.empty() && (value < range.from || value > range.to)) found_ = fmt::format("{} = {}", name, value);
        return *this;
    }
    [[nodiscard]] std::string const& found() const { return found_; }

private:
    std::string found_;
};

} // namespace

std::string absurdity(ShardInfo const& info) {
    Checker check;
    check("rank", info.rank, {0, most_ranks});
    check("threads", info.threads, {1, most_threads});
    check("segment", info.segment, {0, most_ranks});
    check("clock_offset_ns", info.clock_offset_ns, {-latest_ns, latest_ns});
    check("wall_minus_steady_ns", info.wall_minus_steady_ns, {-latest_wall_ns, latest_wall_ns});
    check("start_ns", info.start_ns, {0, latest_ns});
    return check.found();
}

EventCheck::EventCheck(ShardInfo const& info)
    : threads_(info.threads), first_ns_(info.start_ns - hour_ns), last_ns_(end_of_time(info)) {}

std::string EventCheck::absurdity(trace::Event const& event) const {
    auto const is_message = event.kind == trace::Kind::send || event.kind == trace::Kind::receive;
    Checker check;
    check("kind", static_cast<std::int64_t>(event.kind), {0, static_cast<std::int64_t>(trace::kind_names.size()) - 1});
    check("merged", event.merged, {1, 65'535});
    check("thread", event.thread, {0, threads_});
    check("start_ns", event.start_ns, {first_ns_, last_ns_});
    check("duration_ns", event.duration_ns, {0, last_ns_ - first_ns_});
    check("useful_ns", event.useful_ns, {0, last_ns_ - first_ns_});
    check("depth", event.depth, {0, std::numeric_limits<std::int32_t>::max()});
    if (is_message) check("peer", event.peer, {-1, most_ranks});
    if (check.found().empty()) check("end_ns", event.start_ns + event.duration_ns, {first_ns_, last_ns_});
    return check.found();
}

} // namespace espalier::store
