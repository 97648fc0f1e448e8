#include "espalier/base/error.hpp"
#include "espalier/base/text.hpp"
#include "espalier/model/onnx.hpp"

#include "onnx_file.hpp"

#include <fmt/core.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <span>
#include <unistd.h>

namespace espalier::model {
namespace {

namespace fs = std::filesystem;

bool put_all(int fd, std::span<std::byte const> bytes) {
    while (!bytes.empty()) {
        auto const written = ::write(fd, bytes.data(), bytes.size());
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) return false;
        bytes = bytes.subspan(static_cast<std::size_t>(written));
    }
    return true;
}

/// Some file systems cannot sync what they are asked to; no data is lost by that.
bool synced(int fd) { return ::fsync(fd) == 0 || errno == EINVAL || errno == ENOTSUP || errno == EROFS; }

/// Never through a link that is there.
bool put_new(fs::path const& file, std::span<std::byte const> bytes) {
    auto const fd = ::open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (fd < 0) return false;
    auto const is_good = put_all(fd, bytes) && synced(fd);
    auto const error = errno;
    auto const is_closed = ::close(fd) == 0;
    if (!is_good) errno = error;
    return is_good && is_closed;
}

void sync_folder(fs::path const& folder) {
    auto const fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return;
    synced(fd);
    ::close(fd);
}

/// A model that leaves its data where they are must not be written over them.
bool holds_data(OnnxFile const& file, fs::path const& path) {
    std::error_code ignored;
    for (auto const& data : file.data_files)
        if (fs::equivalent(data, path, ignored) && !ignored) return true;
    return false;
}

void check_target(Model const& model, fs::path const& path) {
    std::error_code ignored;
    auto const status = fs::symlink_status(path, ignored);
    if (fs::exists(status) && !fs::is_regular_file(status) && !fs::is_symlink(status))
        throw base::SystemError("{}: it is not a plain file, and a model is not written over it: name another",
                                base::printable(path.string()));
    if (model.file != nullptr && holds_data(*model.file, path))
        throw base::SystemError("{}: the data of the model lie there: name another file",
                                base::printable(path.string()));
}

} // namespace

void write_onnx(Model const& model, std::string const& path) {
    fs::path const file(path);
    auto const folder = file.has_parent_path() ? file.parent_path() : fs::path(".");
    check_target(model, file);
    auto const bytes = to_onnx(model, folder.string());
    fs::path const temporary(fmt::format("{}.{}.tmp", path, ::getpid()));
    ::unlink(temporary.c_str()); // of a process that was killed
    if (put_new(temporary, bytes) && std::rename(temporary.c_str(), file.c_str()) == 0) return sync_folder(folder);
    std::string const reason = std::strerror(errno);
    ::unlink(temporary.c_str());
    throw base::SystemError("{}: cannot write {} bytes: {} (what was there is untouched): name another file",
                            base::printable(path), bytes.size(), reason);
}

} // namespace espalier::model
