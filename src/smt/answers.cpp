#include "espalier/smt/answers.hpp"

namespace espalier::smt {

using Lock = std::unique_lock<std::mutex>;

namespace {

/// A thread that sleeps looks this often whether the run stops.
constexpr std::chrono::milliseconds nap{20};

} // namespace

std::optional<Answer> Answers::find(std::string const& about) const {
    Lock const lock(mutex_);
    auto const known = entries_.find(about);
    return known == entries_.end() ? std::nullopt : known->second->answer;
}

void Answers::announce(Question question) {
    Lock const lock(mutex_);
    if (entries_.contains(question.about)) return;
    announced_.push_back(entry_of(std::move(question)));
}

std::optional<Answer> Answers::ask(Question question, Context& context, base::StopToken const& stop) {
    Lock lock(mutex_);
    auto const wanted = entry_of(std::move(question));
    while (wanted->state != Entry::State::closed) {
        stop.check();
        auto const entry = next_open(wanted);
        if (!entry) {
            closed_.wait_for(lock, nap);
            continue;
        }
        entry->state = Entry::State::in_work;
        lock.unlock();
        work_on(entry, context);
        lock.lock();
    }
    return wanted->answer;
}

/// With the lock held.
Answers::Shared Answers::entry_of(Question question) {
    auto& entry = entries_[question.about];
    if (!entry) entry = std::make_shared<Entry>(Entry{std::move(question.about), std::move(question.text)});
    return entry;
}

/// The one that is wanted if nobody works on it, else the oldest that was announced. With the lock held.
Answers::Shared Answers::next_open(Shared const& wanted) {
    if (wanted->state == Entry::State::open) return wanted;
    while (!announced_.empty()) {
        auto const oldest = std::move(announced_.front());
        announced_.pop_front();
        if (oldest->state == Entry::State::open) return oldest;
    }
    return nullptr;
}

/// Without the lock: only the thread that set `in_work` comes here, and nobody changes the text meanwhile.
void Answers::work_on(Shared const& entry, Context& context) try {
    auto const answer = context.check(entry->text);
    close(entry, context.is_final() ? std::optional(answer) : std::nullopt);
} catch (...) {
    close(entry, std::nullopt);
    throw;
}

void Answers::close(Shared const& entry, std::optional<Answer> answer) {
    Lock const lock(mutex_);
    entry->state = Entry::State::closed;
    entry->answer = answer;
    entry->text = {};
    if (!answer) entries_.erase(entry->about);
    closed_.notify_all();
}

} // namespace espalier::smt
