#pragma once

#include "espalier/trace/event.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <vector>

namespace espalier::analysis::exports {

/// A span begins or ends on the line of a thread.
struct Step {
    enum class Type : std::uint8_t { begin, end };
    Type type = Type::begin;
    std::int64_t time_ns = 0;
    trace::Event const* event = nullptr; ///< its counts are the recorded ones, its time may have moved
};

/// Draws the events of one thread as properly nested spans in the order of time, none before 0. Every event has one
/// begin and one end. Holds a bounded number of events.
///
/// Events come nearly in order and are sorted by their start, the longest first. A merged event is placed only roughly
/// (it begins with its first span and lasts as long as all together), so spans may overlap that in truth did not:
/// - A query lies in the chunk or verification that is open, and is cut at its end.
/// - Else a span within another one is drawn there if both are exact, or if it is of a kind that is never merged
///   (messages, commits): those keep their time, and the arrows with them.
/// - A span that reaches out of an open one begins when that ends: an exact one is cut, a merged one is pushed out
/// whole, because only its length is true.
/// - One that comes too late to be sorted in begins where the line has got to, cut or pushed likewise.
class Lane {
public:
    using Visitor = std::function<void(Step const&)>;
    static constexpr std::size_t capacity = 4096; ///< events that wait to be drawn

    explicit Lane(Visitor visitor) : visitor_(std::move(visitor)) {}

    void add(trace::Event event);
    /// Draws what is left. Nothing may be added after it.
    void finish();

private:
    struct Open {
        trace::Event event;
        std::int64_t end_ns;
    };
    struct Held {
        trace::Event event;
        bool is_exact;
    };

    [[nodiscard]] std::size_t held() const { return to_cut_.size() + to_move_.size(); }
    void wait(trace::Event const& event);
    void place_next();
    void place_held(std::int64_t time_ns);
    [[nodiscard]] bool try_held(std::deque<Held>& list);
    [[nodiscard]] bool try_place(trace::Event const& event);
    void hold(trace::Event const& event);
    void close_until(std::int64_t time_ns);
    void begin(trace::Event const& event, std::int64_t end_ns);

    Visitor visitor_;
    std::deque<trace::Event> waiting_; ///< in the order of drawing
    std::deque<Held> to_cut_;          ///< reached out of the span that was open: tried again when it ends
    std::deque<Held> to_move_;         ///< likewise, after those that are cut
    std::vector<Open> open_;           ///< the innermost last; each ends before or with the one around it
    std::int64_t now_ns_ = 0;          ///< of the last step
};

} // namespace espalier::analysis::exports
