#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace espalier::base {

/// What one progress line says.
struct ProgressRecord {
    double elapsed_s = 0;
    std::uint64_t nodes = 0;
    double nodes_per_s = 0;
    std::uint64_t queued = 0; ///< subtrees waiting at the master
    int idle_threads = 0;
    int threads = 0;
    std::uint64_t results = 0;
    double best = 0; ///< infinite: none yet
    int lost_ranks = 0;
    int execution = 0;      ///< of the run, counted from 1; 0: not known (older files)
    double wall_s = 0;      ///< since 1970: when it was made; 0: not known
    double improved_s = -1; ///< as elapsed_s: when `best` last got better; negative: not in this execution
    std::string stage = {}; ///< the stage, in words; only for what is shown, not for what is stored
};

[[nodiscard]] std::string progress_text(ProgressRecord const& record);

/// One redrawing line if stderr is a terminal, else a plain line every few seconds. Only one thread uses it.
class ProgressLine {
public:
    struct Options {
        bool is_enabled = true;
        bool is_terminal = false; ///< stderr is one
        std::chrono::milliseconds redraw{250};
        std::chrono::milliseconds plain{5000};
    };
    explicit ProgressLine(Options options);
    ~ProgressLine();
    ProgressLine(ProgressLine const&) = delete;
    ProgressLine& operator=(ProgressLine const&) = delete;

    /// True if it is time for another line, so that the caller does not gather the record for nothing.
    [[nodiscard]] bool is_due(std::int64_t now_ns) const;
    void show(ProgressRecord const& record, std::int64_t now_ns);
    /// Removes a redrawn line, so that what follows starts on a clean one.
    void clear();

private:
    Options options_;
    std::int64_t last_ns_ = 0;
    bool is_drawn_ = false;
};

} // namespace espalier::base
