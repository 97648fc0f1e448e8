#include "espalier/codegen/child.hpp"

#include "espalier/base/error.hpp"
#include "espalier/base/system.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

namespace espalier::codegen {
namespace {

/// Both ends of a pipe, closed at the end.
class Pipe {
public:
    Pipe() {
        if (pipe2(ends_.data(), O_CLOEXEC) != 0)
            throw base::SystemError("cannot make a pipe: {}: close other programs", std::strerror(errno));
    }
    ~Pipe() {
        for (auto const end : ends_)
            if (end >= 0) close(end);
    }
    Pipe(Pipe const&) = delete;
    Pipe& operator=(Pipe const&) = delete;
    [[nodiscard]] int reading() const { return ends_[0]; }
    [[nodiscard]] int writing() const { return ends_[1]; }
    void close_writing() { close(std::exchange(ends_[1], -1)); }

private:
    std::array<int, 2> ends_{-1, -1};
};

void limit(__rlimit_resource what, std::uint64_t most) {
    rlimit const both{most, most};
    setrlimit(what, &both);
}

/// In the new process: nothing here may allocate.
[[noreturn]] void become(char* const* arguments, ChildLimits const& limits, int out, int errors) {
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL); // it would disturb the next measurement if this process is killed
    if (limits.memory_bytes > 0) limit(RLIMIT_AS, limits.memory_bytes);
    limit(RLIMIT_CORE, 0);
    dup2(out, STDOUT_FILENO);
    dup2(errors, STDERR_FILENO);
    auto const nothing = open("/dev/null", O_RDONLY);
    if (nothing >= 0) dup2(nothing, STDIN_FILENO);
    execvp(arguments[0], arguments);
    _exit(127);
}

/// Reads what has arrived; false at the end.
bool read_some(int from, std::string& into, std::uint64_t most) {
    std::array<char, 4096> buffer{};
    auto const count = read(from, buffer.data(), buffer.size());
    if (count <= 0) return count < 0 && errno == EINTR;
    if (into.size() < most) into.append(buffer.data(), static_cast<std::size_t>(count));
    return true;
}

/// How long to wait for output of a process before checking whether it should be stopped.
constexpr std::int64_t look_ms = 5;

/// Until both are at their end, or the time is over or the run stops: then false.
bool read_all(Pipe const& out, Pipe const& errors, ChildLimits const& limits, ChildEnd& end) {
    auto const deadline = base::steady_ns() + static_cast<std::int64_t>(limits.seconds * 1e9);
    std::array<pollfd, 2> open{{{out.reading(), POLLIN, 0}, {errors.reading(), POLLIN, 0}}};
    std::array<std::string*, 2> const into{&end.out, &end.errors};
    while (open[0].fd >= 0 || open[1].fd >= 0) {
        auto const left_ms = (deadline - base::steady_ns()) / 1'000'000;
        if (left_ms <= 0 || limits.stop.is_raised()) return false;
        if (poll(open.data(), open.size(), static_cast<int>(std::min(left_ms, look_ms))) <= 0) continue;
        for (std::size_t i = 0; i < open.size(); ++i)
            if (open[i].fd >= 0 && open[i].revents != 0 && !read_some(open[i].fd, *into[i], limits.output_bytes))
                open[i].fd = -1;
    }
    return true;
}

/// The process closes its output when it ends, or some time before that.
bool has_ended(pid_t child, int& status, std::int64_t deadline, base::StopToken const& stop) {
    for (;;) {
        if (waitpid(child, &status, WNOHANG) == child) return true;
        if (base::steady_ns() > deadline || stop.is_raised()) return false;
        usleep(500);
    }
}

} // namespace

ChildEnd run_child(std::vector<std::string> const& command, ChildLimits const& limits) {
    Pipe out, errors;
    std::vector<char*> arguments;
    for (auto const& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    auto const deadline = base::steady_ns() + static_cast<std::int64_t>(limits.seconds * 1e9);
    auto const child = fork();
    if (child < 0)
        throw base::SystemError("cannot start {}: {}: close other programs", command[0], std::strerror(errno));
    if (child == 0) become(arguments.data(), limits, out.writing(), errors.writing());
    out.close_writing();
    errors.close_writing();
    ChildEnd end;
    int status = 0;
    auto const is_in_time = read_all(out, errors, limits, end) && has_ended(child, status, deadline, limits.stop);
    kill(-child, SIGKILL); // and what it started
    if (!is_in_time) {
        kill(child, SIGKILL);
        waitpid(child, &status, 0);
        limits.stop.check();
        end.how = ChildEnd::How::timed_out;
        return end;
    }
    end.how = WIFEXITED(status) ? ChildEnd::How::exited : ChildEnd::How::killed;
    end.code = WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status);
    return end;
}

} // namespace espalier::codegen
