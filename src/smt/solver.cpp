#include "espalier/smt/solver.hpp"

#include "espalier/base/error.hpp"
#include "espalier/base/system.hpp"

#include <fmt/core.h>
#include <z3++.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <stop_token>
#include <thread>
#include <utility>

namespace espalier::smt {
namespace {

/// Whether a query runs, and whether it shall end. Thread safe.
class RunningQuery {
public:
    void begin() {
        std::lock_guard const lock(mutex_);
        is_running_ = true;
        is_interrupted_ = false;
        begun_ns_ = base::steady_ns();
    }
    void end() {
        std::lock_guard const lock(mutex_);
        is_running_ = false;
        ended_.notify_all();
    }
    [[nodiscard]] bool is_interrupted() const {
        std::lock_guard const lock(mutex_);
        return is_interrupted_;
    }
    void interrupt(z3::context& context) {
        std::unique_lock lock(mutex_);
        interrupt(context, lock);
    }
    void interrupt_if_over(z3::context& context, std::chrono::nanoseconds patience) {
        std::unique_lock lock(mutex_);
        if (base::steady_ns() - begun_ns_ >= patience.count()) interrupt(context, lock);
    }

private:
    /// Repeats, because Z3 forgets an interrupt that comes before it has begun to solve.
    void interrupt(z3::context& context, std::unique_lock<std::mutex>& lock) {
        is_interrupted_ = is_running_;
        while (is_running_ && is_interrupted_) {
            context.interrupt();
            ended_.wait_for(lock, std::chrono::milliseconds(2));
        }
    }

    mutable std::mutex mutex_;
    std::condition_variable ended_;
    bool is_running_ = false;
    bool is_interrupted_ = false;
    std::int64_t begun_ns_ = 0;
};

/// Interrupts queries that take too long. Z3's own `timeout` would hand every query to a thread of its own and spin
/// until that has run, which two threads with a core each pay for with a fifth of their time; this one looks now and
/// then.
class TimeoutNet {
public:
    TimeoutNet(RunningQuery& running, z3::context& context, std::chrono::nanoseconds patience) {
        if (patience.count() > 0)
            thread_ = std::jthread([&running, &context, patience](std::stop_token const& is_over) {
                std::mutex mutex;
                std::condition_variable_any over;
                std::unique_lock lock(mutex);
                while (!over.wait_for(lock, is_over, nap(patience), [&] { return is_over.stop_requested(); }))
                    running.interrupt_if_over(context, patience);
            });
    }

private:
    static std::chrono::nanoseconds nap(std::chrono::nanoseconds patience) {
        return std::min<std::chrono::nanoseconds>(patience / 4, std::chrono::milliseconds(250));
    }
    std::jthread thread_;
};

/// Runs `work` when it goes out of scope.
template <class Work>
struct AtExit {
    Work work;
    ~AtExit() { work(); }
};
template <class Work>
AtExit(Work) -> AtExit<Work>;

z3::params parameters(z3::context& context, Options const& options) {
    z3::params p(context);
    if (options.rlimit > 0) p.set("rlimit", options.rlimit);
    p.set("ctrl_c", false); // else every check takes SIGINT away from the program
    return p;
}

/// Z3 has one limit for the process.
void limit_memory(Options const& options) {
    if (options.memory_max_mb > 0) z3::set_param("memory_max_size", std::to_string(options.memory_max_mb).c_str());
}

Answer answer_of(z3::check_result result) {
    if (result == z3::sat) return Answer::sat;
    return result == z3::unsat ? Answer::unsat : Answer::unknown;
}

} // namespace

struct Context::Impl {
    explicit Impl(Options const& options)
        : limits(parameters(context, options)), net(running, context, options.timeout_net) {
        limit_memory(options);
    }

    z3::context context;
    z3::params limits;
    RunningQuery running;
    TimeoutNet net; ///< ends before what it looks at
    Statistics statistics;
    std::vector<QuerySpan> queries;
    bool is_final = true;

    z3::solver load(std::string const& smtlib2) {
        try {
            // Z3's default solver makes all of its tactics anew for every query, under locks of the whole process: a
            // third of the time, and more of it for every further thread.
            z3::solver solver(context, z3::solver::simple());
            solver.set(limits);
            solver.from_string(smtlib2.c_str());
            return solver;
        } catch (z3::exception const& error) {
            throw base::SystemError("Z3 cannot read a query (a bug in what wrote it): {}", error.msg());
        }
    }
    /// Z3 says "push canceled" for the limit of steps, the wall clock and an interrupt alike, so that only the memory
    /// is known from its words.
    Answer decide(z3::solver& solver) {
        is_final = !running.is_interrupted();
        if (!is_final) return Answer::unknown;
        std::string why;
        try {
            auto const answer = answer_of(solver.check());
            if (answer != Answer::unknown) return answer;
            why = solver.reason_unknown();
        } catch (z3::exception const& error) {
            why = error.msg();
        }
        is_final = !running.is_interrupted() && why.find("mem") == why.npos;
        return Answer::unknown;
    }
};

Context::Context(Options const& options) : impl_(std::make_unique<Impl>(options)) {}

Context::~Context() = default;

Answer Context::check(std::string_view smtlib2) {
    auto const start_ns = base::steady_ns();
    auto const cpu_start_ns = base::thread_cpu_ns();
    auto& statistics = impl_->statistics;
    impl_->running.begin();
    AtExit const done{[&] {
        impl_->running.end();
        auto const cpu_ns = base::thread_cpu_ns() - cpu_start_ns;
        statistics.cpu_ns += cpu_ns;
        impl_->queries.push_back({start_ns, base::steady_ns() - start_ns, cpu_ns});
    }};
    ++statistics.queries;
    auto solver = impl_->load(std::string(smtlib2));
    auto const answer = impl_->decide(solver);
    if (answer == Answer::unknown) ++statistics.unknown;
    return answer;
}

void Context::interrupt() { impl_->running.interrupt(impl_->context); }

bool Context::is_final() const { return impl_->is_final; }

Statistics Context::statistics() const { return impl_->statistics; }

std::vector<QuerySpan> Context::take_queries() { return std::exchange(impl_->queries, {}); }

std::string version() {
    unsigned major = 0, minor = 0, build = 0, revision = 0;
    Z3_get_version(&major, &minor, &build, &revision);
    return fmt::format("{}.{}.{}.{}", major, minor, build, revision);
}

} // namespace espalier::smt
