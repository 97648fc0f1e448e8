#include "espalier/smt/solver.hpp"

#include "espalier/base/error.hpp"
#include "espalier/base/system.hpp"

#include <fmt/core.h>
#include <z3++.h>

#include <condition_variable>
#include <mutex>

namespace espalier::smt {
namespace {

/// Whether a query runs, and whether it shall end. Thread safe.
class RunningQuery {
public:
    void begin() {
        std::lock_guard const lock(mutex_);
        is_running_ = true;
        is_interrupted_ = false;
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
    /// Repeats, because Z3 forgets an interrupt that comes before it has begun to solve.
    void interrupt(z3::context& context) {
        std::unique_lock lock(mutex_);
        is_interrupted_ = is_running_;
        while (is_running_ && is_interrupted_) {
            context.interrupt();
            ended_.wait_for(lock, std::chrono::milliseconds(2));
        }
    }

private:
    mutable std::mutex mutex_;
    std::condition_variable ended_;
    bool is_running_ = false;
    bool is_interrupted_ = false;
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
    if (options.timeout_net.count() > 0) p.set("timeout", static_cast<unsigned>(options.timeout_net.count()));
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
    explicit Impl(Options const& options) : limits(parameters(context, options)) { limit_memory(options); }

    z3::context context;
    z3::params limits;
    RunningQuery running;
    Statistics statistics;

    z3::solver load(std::string const& smtlib2) {
        try {
            z3::solver solver(context);
            solver.set(limits);
            solver.from_string(smtlib2.c_str());
            return solver;
        } catch (z3::exception const& error) {
            throw base::SystemError("Z3 cannot read a query (a bug in what wrote it): {}", error.msg());
        }
    }
    Answer decide(z3::solver& solver) {
        if (running.is_interrupted()) return Answer::unknown;
        try {
            return answer_of(solver.check());
        } catch (z3::exception const&) {
            return Answer::unknown; // out of memory, interrupted: Z3 gave up
        }
    }
};

Context::Context(Options const& options) : impl_(std::make_unique<Impl>(options)) {}

Context::~Context() = default;

Answer Context::check(std::string_view smtlib2) {
    auto const start_ns = base::thread_cpu_ns();
    auto& statistics = impl_->statistics;
    impl_->running.begin();
    AtExit const done{[&] {
        impl_->running.end();
        statistics.cpu_ns += base::thread_cpu_ns() - start_ns;
    }};
    ++statistics.queries;
    auto solver = impl_->load(std::string(smtlib2));
    auto const answer = impl_->decide(solver);
    if (answer == Answer::unknown) ++statistics.unknown;
    return answer;
}

void Context::interrupt() { impl_->running.interrupt(impl_->context); }

Statistics Context::statistics() const { return impl_->statistics; }

std::string version() {
    unsigned major = 0, minor = 0, build = 0, revision = 0;
    Z3_get_version(&major, &minor, &build, &revision);
    return fmt::format("{}.{}.{}.{}", major, minor, build, revision);
}

} // namespace espalier::smt
