#include "replay.hpp"

#include <algorithm>
#include <limits>
#include <unordered_map>
#include <utility>

namespace espalier::analysis {
namespace {

std::uint64_t key(int sender, std::uint64_t id) { return static_cast<std::uint64_t>(sender) << 44 | id; }

/// One rank in the replay: a message is where its measured and its ideal time are tied together.
struct Player {
    int rank = 0;
    MessageLog const* log = nullptr;
    std::size_t next = 0;
    std::int64_t measured_ns = 0;
    std::int64_t ideal_ns = 0;
    bool has_ended = false;
};

class Stage {
public:
    Stage(std::map<int, MessageLog> const& logs, std::int64_t start_ns) {
        for (auto const& [rank, log] : logs) {
            index_[rank] = players_.size();
            players_.push_back({rank, &log, 0, start_ns, start_ns});
            for (auto const& entry : log.entries)
                if (entry.is_send) sent_.emplace(key(rank, entry.id), not_yet);
        }
    }
    Replay run() {
        std::vector<std::size_t> ready(players_.size());
        for (std::size_t i = 0; i < ready.size(); ++i) ready[i] = i;
        while (finished_ < players_.size()) {
            bool const is_forced = ready.empty();
            auto const at = is_forced ? earliest_blocked() : ready.back();
            if (!is_forced) ready.pop_back();
            play(players_[at], is_forced, ready);
        }
        for (auto const& player : players_)
            replay_.ideal_ns = std::max(
                replay_.ideal_ns, player.ideal_ns + std::max<std::int64_t>(0, player.log->end_ns - player.measured_ns));
        return replay_;
    }

private:
    static constexpr std::int64_t not_yet = -1;

    /// Only a damaged trace gets here: its causes come after their effects.
    [[nodiscard]] std::size_t earliest_blocked() const {
        std::size_t best = 0;
        auto best_ns = std::numeric_limits<std::int64_t>::max();
        for (std::size_t i = 0; i < players_.size(); ++i) {
            auto const& p = players_[i];
            if (p.next == p.log->entries.size() || p.log->entries[p.next].at_ns >= best_ns) continue;
            best = i, best_ns = p.log->entries[p.next].at_ns;
        }
        return best;
    }
    /// As far as it gets without a message that it waits for and that has not been sent.
    void play(Player& player, bool is_forced, std::vector<std::size_t>& ready) {
        auto const& entries = player.log->entries;
        for (; player.next < entries.size(); ++player.next) {
            auto const& entry = entries[player.next];
            auto const passed = std::max<std::int64_t>(0, entry.at_ns - player.measured_ns);
            auto ideal = player.ideal_ns + passed;
            if (!entry.is_send && entry.idle_ns > 0) {
                auto const sent = sent_.find(key(entry.peer, entry.id));
                bool const is_blocked = sent != sent_.end() && sent->second == not_yet;
                if (is_blocked && !std::exchange(is_forced, false)) {
                    blocked_[sent->first] = index_.at(player.rank);
                    return;
                }
                if (sent == sent_.end()) ++replay_.unmatched;
                if (sent != sent_.end() && !is_blocked)
                    ideal = std::max(ideal - std::min(entry.idle_ns, passed), sent->second);
            }
            player.measured_ns = std::max(player.measured_ns, entry.at_ns);
            player.ideal_ns = ideal;
            if (entry.is_send) announce(player, entry, ready);
        }
        if (!std::exchange(player.has_ended, true)) ++finished_;
    }
    void announce(Player const& player, MessageLog::Entry const& entry, std::vector<std::size_t>& ready) {
        auto const id = key(player.rank, entry.id);
        sent_[id] = player.ideal_ns;
        if (auto const waiting = blocked_.find(id); waiting != blocked_.end()) {
            ready.push_back(waiting->second);
            blocked_.erase(waiting);
        }
    }

    std::vector<Player> players_;
    std::unordered_map<int, std::size_t> index_;
    std::unordered_map<std::uint64_t, std::int64_t> sent_; ///< ideal time of sending
    std::unordered_map<std::uint64_t, std::size_t> blocked_;
    std::size_t finished_ = 0;
    Replay replay_;
};

} // namespace

void prepare(MessageLog& log, std::vector<Interval> const& idle) {
    std::ranges::stable_sort(log.entries, {}, &MessageLog::Entry::at_ns);
    auto gap = idle.begin();
    for (auto& entry : log.entries) {
        while (gap != idle.end() && gap->to < entry.at_ns) ++gap;
        if (gap == idle.end()) break;
        if (!entry.is_send && gap->from < entry.at_ns) entry.idle_ns = entry.at_ns - gap->from;
    }
}

Replay replay(std::map<int, MessageLog> const& logs, std::int64_t start_ns) { return Stage(logs, start_ns).run(); }

} // namespace espalier::analysis
