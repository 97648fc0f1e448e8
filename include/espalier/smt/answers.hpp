#pragma once

#include "espalier/base/stop.hpp"
#include "espalier/smt/solver.hpp"

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>

namespace espalier::smt {

/// What Z3 was asked and has answered, shared by the threads of a rank: every question is asked once.
///
/// A thread that wants an answer on which another one is at work does not ask it again. It answers a question that was
/// announced, no matter by whom, and sleeps only if there is none. So a thread should announce what it will ask next.
/// Any thread may call any member, each with a context of its own. It only grows: some 300 bytes an answer.
class Answers {
public:
    struct Question {
        std::string about; ///< the same for two questions if and only if they are one: content, no ids of any table
        std::string text;  ///< SMT-LIB 2
    };

    /// Nothing if nobody has an answer yet.
    [[nodiscard]] std::optional<Answer> find(std::string const& about) const;
    /// The question will be asked; until then anybody may answer it.
    void announce(Question question);
    /// Nothing if the wall clock, an interrupt or the memory ended the query: that is not an answer, and is not kept.
    /// Throws what Context::check throws; threads that wait for this answer get nothing then. Throws Stopped if the run
    /// stops before there is an answer, at the latest when a query of this thread ends.
    [[nodiscard]] std::optional<Answer> ask(Question question, Context& context, base::StopToken const& stop = {});

private:
    struct Entry {
        enum class State : std::uint8_t { open, in_work, closed };
        std::string about;
        std::string text; ///< empty once it is closed
        State state = State::open;
        std::optional<Answer> answer;
    };
    using Shared = std::shared_ptr<Entry>; ///< shared by the table and the threads that wait for it

    [[nodiscard]] Shared entry_of(Question question);
    [[nodiscard]] Shared next_open(Shared const& wanted);
    void work_on(Shared const& entry, Context& context);
    void close(Shared const& entry, std::optional<Answer> answer);

    mutable std::mutex mutex_;
    std::condition_variable closed_;
    std::unordered_map<std::string, Shared> entries_;
    std::deque<Shared> announced_; ///< the oldest first; may hold entries that are not open any more
};

} // namespace espalier::smt
