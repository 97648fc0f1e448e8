#include "output_file.hpp"

#include "espalier/base/error.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>
#include <utility>

namespace espalier::analysis::exports {
namespace {

/// Where a link leads to, so that the file is replaced and not the link.
std::filesystem::path resolved(std::filesystem::path const& file) {
    std::error_code ignored;
    auto const target = std::filesystem::is_symlink(file, ignored) ? std::filesystem::weakly_canonical(file, ignored)
                                                                   : std::filesystem::path();
    return target.empty() ? file : target;
}

} // namespace

bool OutputFile::is_special(std::filesystem::path const& file) {
    std::error_code ignored;
    return std::filesystem::is_other(file, ignored);
}

OutputFile::OutputFile(std::filesystem::path const& file) : file_(is_special(file) ? file : resolved(file)) {
    std::error_code ignored;
    if (std::filesystem::is_directory(file_, ignored))
        throw base::SystemError("{}: cannot be written: it is a folder: choose another name", file.string());
    written_ = file_;
    if (!is_special(file_)) written_ += fmt::format(".partial-{}", ::getpid());
    descriptor_ = ::open(written_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (descriptor_ < 0) fail("cannot be made");
    buffer_.reserve(flush_bytes + (flush_bytes >> 4));
}

OutputFile::~OutputFile() {
    if (descriptor_ < 0) return;
    ::close(descriptor_);
    if (written_ != file_) ::unlink(written_.c_str());
}

void OutputFile::flush() {
    for (std::string_view rest = buffer_; !rest.empty();) {
        auto const written = ::write(descriptor_, rest.data(), rest.size());
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) fail("cannot be written");
        rest.remove_prefix(static_cast<std::size_t>(written));
    }
    buffer_.clear();
}

void OutputFile::complete() {
    flush();
    if (::close(std::exchange(descriptor_, -1)) != 0) {
        auto const reason = errno;
        if (written_ != file_) ::unlink(written_.c_str());
        errno = reason;
        fail("cannot be written");
    }
    if (written_ != file_ && std::rename(written_.c_str(), file_.c_str()) != 0) {
        auto const reason = errno;
        ::unlink(written_.c_str());
        errno = reason;
        fail("cannot be replaced");
    }
}

void OutputFile::fail(std::string_view what) const {
    throw base::SystemError("{}: {}: {}: choose another place, or make room there", file_.string(), what,
                            std::strerror(errno));
}

} // namespace espalier::analysis::exports
