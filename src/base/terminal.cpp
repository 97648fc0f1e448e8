#include "espalier/base/terminal.hpp"

#include <filesystem>
#include <fstream>
#include <string>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

namespace espalier::base {
namespace {

namespace fs = std::filesystem;

fs::path entry(long process) { return fs::path("/proc") / std::to_string(process); }

/// `pipe:[12345]`; empty if it cannot be seen.
std::string target(fs::path const& descriptor) {
    std::error_code error;
    auto const path = fs::read_symlink(descriptor, error);
    return error ? std::string() : path.string();
}

struct Process {
    std::string name;
    long parent = 0;
};

/// From `12 (name) S 34 ...`, where the name may hold anything; no parent if it cannot be read.
Process process_of(long id) {
    std::ifstream in(entry(id) / "stat");
    std::string text;
    std::getline(in, text);
    auto const open = text.find('('), close = text.rfind(')');
    if (open == std::string::npos || close == std::string::npos || close + 4 > text.size()) return {};
    return {text.substr(open + 1, close - open - 1), std::strtol(text.c_str() + close + 4, nullptr, 10)};
}

bool holds(long process, std::string const& pipe) {
    std::error_code error;
    for (fs::directory_iterator at(entry(process) / "fd", error), end; !error && at != end; at.increment(error))
        if (target(at->path()) == pipe) return true;
    return false;
}

bool is_terminal(fs::path const& descriptor) {
    constexpr unsigned consoles = 4, first_pty = 136, last_pty = 143; // majors, as Linux numbers its devices
    struct stat info {};
    if (::stat(descriptor.c_str(), &info) != 0 || !S_ISCHR(info.st_mode)) return false;
    auto const kind = major(info.st_rdev);
    return kind == consoles || (kind >= first_pty && kind <= last_pty);
}

bool is_launcher(std::string const& name) { return name.starts_with("mpiexec") || name.starts_with("mpirun"); }

/// The pipe is read by an ancestor, mpiexec's proxy or mpiexec itself, which passes it on to mpiexec's own stderr.
bool is_passed_on_to_terminal(std::string const& pipe) {
    bool is_read = false;
    for (long id = ::getppid(); id > 1;) {
        auto const process = process_of(id);
        is_read = is_read || ((is_launcher(process.name) || process.name.starts_with("hydra")) && holds(id, pipe));
        if (is_launcher(process.name)) return is_read && is_terminal(entry(id) / "fd" / "2");
        id = process.parent;
    }
    return false;
}

} // namespace

bool is_stderr_seen() {
    if (::isatty(STDERR_FILENO) != 0) return true;
    auto const pipe = target("/proc/self/fd/2");
    return pipe.starts_with("pipe:") && is_passed_on_to_terminal(pipe);
}

} // namespace espalier::base
