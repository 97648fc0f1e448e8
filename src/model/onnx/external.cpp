#include "external.hpp"

#include "espalier/base/error.hpp"
#include "espalier/base/text.hpp"

#include <cerrno>
#include <charconv>
#include <cstring>
#include <fcntl.h>
#include <limits>
#include <optional>
#include <sys/stat.h>
#include <unistd.h>

namespace espalier::model {
namespace {

namespace fs = std::filesystem;

struct Place {
    std::string location;
    std::uint64_t offset = 0;
    std::optional<std::uint64_t> length;
};

std::uint64_t size_in(std::string const& text, std::string const& tensor) {
    std::uint64_t value = 0;
    auto const* const end = text.data() + text.size();
    auto const read = std::from_chars(text.data(), end, value);
    constexpr auto most = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    if (read.ec == std::errc{} && read.ptr == end && value <= most) return value;
    throw base::InputError("tensor {}: {} is no place in a file of data (offset and length are sizes in bytes): export "
                           "the model again",
                           quoted(tensor), quoted(text));
}

Place place_in(pb::TensorProto const& tensor) {
    Place place;
    for (auto const& entry : tensor.external_data()) {
        if (entry.key() == "location") place.location = entry.value();
        if (entry.key() == "offset") place.offset = size_in(entry.value(), tensor.name());
        if (entry.key() == "length") place.length = size_in(entry.value(), tensor.name());
    }
    return place;
}

bool is_inside(fs::path const& file, fs::path const& folder) {
    auto const rest = file.lexically_relative(folder);
    return !rest.empty() && *rest.begin() != ".." && *rest.begin() != ".";
}

fs::path resolved(Place const& place, std::string const& folder, std::string const& tensor) {
    auto const where = quoted(place.location);
    if (folder.empty())
        throw base::InputError("tensor {}: its data lie in a file of their own, {}, but this model has no folder: read "
                               "it from its file",
                               quoted(tensor), where);
    fs::path const named(place.location);
    auto const is_plain = !place.location.empty() && place.location.find('\0') == std::string::npos;
    std::error_code failed;
    auto const home = fs::canonical(folder, failed);
    auto const file = is_plain && !failed ? fs::weakly_canonical(home / named, failed) : fs::path{};
    auto is_ours = is_plain && !failed && named.is_relative() && is_inside(file, home);
    for (auto const& part : named) is_ours = is_ours && part != "..";
    if (is_ours) return file;
    throw base::InputError("tensor {}: its data are said to lie in {}, which is not in the folder of the model (a file "
                           "must not make us read others): put the data beside the model",
                           quoted(tensor), where);
}

/// Closed when it goes.
struct Opened {
    int fd = -1;
    std::uint64_t size = 0;

    explicit Opened(fs::path const& file) : fd(::open(file.c_str(), O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC)) {
        struct stat status {};
        if (fd >= 0 && ::fstat(fd, &status) == 0 && S_ISREG(status.st_mode))
            size = static_cast<std::uint64_t>(status.st_size);
        else if (fd >= 0)
            fd = (::close(fd), -1);
    }
    Opened(Opened const&) = delete;
    ~Opened() {
        if (fd >= 0) ::close(fd);
    }
};

bool read_all(int fd, std::uint64_t at, std::span<std::byte> out) {
    while (!out.empty()) {
        auto const got = ::pread(fd, out.data(), out.size(), static_cast<off_t>(at));
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return false;
        out = out.subspan(static_cast<std::size_t>(got));
        at += static_cast<std::uint64_t>(got);
    }
    return true;
}

[[noreturn]] void refuse_file(pb::TensorProto const& tensor, fs::path const& file, std::string_view why) {
    throw base::InputError("tensor {}: its data in {}: {}: copy the model together with its files of data",
                           quoted(tensor.name()), base::printable(file.string()), why);
}

} // namespace

fs::path ExternalData::check(pb::TensorProto const& tensor) const {
    auto const place = place_in(tensor);
    auto const file = resolved(place, folder_, tensor.name());
    Opened const opened(file);
    if (opened.fd < 0) refuse_file(tensor, file, "there is no such file that can be read");
    if (place.offset > opened.size || place.length.value_or(0) > opened.size - place.offset)
        refuse_file(tensor, file, "the file ends before them");
    return file;
}

void ExternalData::read(pb::TensorProto const& tensor, std::span<std::byte> out) const {
    auto const place = place_in(tensor);
    auto const file = check(tensor);
    if (place.length && *place.length != out.size())
        refuse_file(tensor, file, "they are not as long as its dimensions say");
    Opened const opened(file);
    if (opened.fd < 0 || !read_all(opened.fd, place.offset, out))
        refuse_file(tensor, file, "the file ends before them");
}

} // namespace espalier::model
