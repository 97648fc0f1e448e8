#include "files.hpp"

#include "espalier/base/error.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace espalier::config {
namespace {

constexpr std::size_t max_file_bytes = 16u << 20; // far above any experiment

class Descriptor {
public:
    explicit Descriptor(int value) : value_(value) {}
    Descriptor(Descriptor const&) = delete;
    Descriptor& operator=(Descriptor const&) = delete;
    ~Descriptor() {
        if (value_ >= 0) ::close(value_);
    }
    [[nodiscard]] int get() const { return value_; }

private:
    int value_;
};

[[noreturn]] void refuse_unreadable(std::string const& name) {
    throw base::InputError("{}: cannot be read ({}): check the path and its permissions", name, std::strerror(errno));
}

/// A pipe may block forever and is empty when it is read again. A character device is read, without waiting, up to the
/// limit.
void require_file(Descriptor const& file, std::string const& name, FileKind const& kind) {
    struct stat status {};
    if (::fstat(file.get(), &status) != 0) refuse_unreadable(name);
    if (S_ISDIR(status.st_mode))
        throw base::InputError("{}: is a folder, not {}: name a YAML file, e.g. {}", name, kind.what, kind.example);
    if (!S_ISREG(status.st_mode) && !S_ISCHR(status.st_mode))
        throw base::InputError("{}: is a {}, not {}: name a plain YAML file, e.g. {}", name,
                               S_ISFIFO(status.st_mode) ? "pipe" : "device", kind.what, kind.example);
}

/// Up to a byte more than is allowed.
std::string read_all(Descriptor const& file, std::string const& name) {
    std::string text(max_file_bytes + 1, '\0');
    std::size_t length = 0;
    while (length < text.size()) {
        auto const count = ::read(file.get(), text.data() + length, text.size() - length);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) refuse_unreadable(name);
        if (count == 0) break;
        length += static_cast<std::size_t>(count);
    }
    text.resize(length);
    return text;
}

} // namespace

std::string read_text(std::filesystem::path const& file, FileKind const& kind) {
    auto const name = file.string();
    Descriptor const opened(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    if (opened.get() < 0) refuse_unreadable(name.empty() ? "''" : name);
    require_file(opened, name, kind);
    auto text = read_all(opened, name);
    if (text.size() > max_file_bytes)
        throw base::InputError("{}: larger than 16 MiB, so not {}: name a YAML file", name, kind.what);
    return text;
}

std::string_view without_bom(std::string_view text) {
    constexpr std::string_view bom = "\xEF\xBB\xBF";
    return text.starts_with(bom) ? text.substr(bom.size()) : text;
}

} // namespace espalier::config
