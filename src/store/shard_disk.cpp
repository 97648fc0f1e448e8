#include "shard_disk.hpp"

#include "run_parts.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/resource.h>

namespace espalier::store {
namespace {

constexpr std::size_t reserve_step = 256u << 10;
constexpr std::size_t longest_log = 512u << 10; ///< and some more for the sums

Descriptor make_file(std::filesystem::path const& file, ShardDisk::Existing existing) {
    if (auto const link = make_part_folders(file); !link.empty())
        throw base::SystemError("{}: is a link (links inside a run folder are not followed, so nothing is written "
                                "there): replace it by a folder, or choose another results.path",
                                link.string());
    if (existing == ShardDisk::Existing::refuse && std::filesystem::exists(std::filesystem::symlink_status(file)))
        throw base::SystemError("{}: cannot make the file: it already exists: choose another results.path",
                                file.string());
    auto made = make_new(file);
    if (made.get() >= 0) return made;
    throw base::SystemError("{}: cannot make the file: {}: make its folder writable, or choose another results.path",
                            file.string(), std::strerror(errno));
}

int sync_all(Descriptor const& file) {
    return ::fsync(file.get()) == 0 || errno == EINVAL || errno == ENOTSUP ? 0 : errno;
}

/// Exceeding it would end the process by a signal.
bool is_within_limit(std::uint64_t end) {
    rlimit limit{};
    return ::getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur >= end;
}

/// The number of the error, or 0. Zeros that are synced reserve space on file systems that have no other way.
int extend(Descriptor const& file, std::uint64_t at, std::size_t bytes) {
    if (!is_within_limit(at + bytes)) return EFBIG;
    if (::fallocate(file.get(), 0, static_cast<off_t>(at), static_cast<off_t>(bytes)) == 0) return 0;
    if (errno != EOPNOTSUPP && errno != ENOSYS && errno != EINTR) return errno;
    auto const error = write_at(file, at, base::Bytes(bytes));
    return error != 0 ? error : sync_all(file);
}

/// Visits the part of each page that lies in [at, at + size): page, offset in it, offset in the range, bytes.
template <class Visit>
void for_pages(std::uint64_t at, std::size_t size, Visit&& visit) {
    for (std::size_t done = 0; done < size;) {
        auto const page = (at + done) / page_bytes;
        auto const offset = static_cast<std::size_t>((at + done) % page_bytes);
        auto const count = std::min(page_bytes - offset, size - done);
        visit(page, offset, done, count);
        done += count;
    }
}

} // namespace

ShardDisk::ShardDisk(std::filesystem::path const& file, Existing existing)
    : path_(file), file_(make_file(file, existing)), log_(make_new(log_name(file))) {
    if (log_.get() < 0)
        throw base::SystemError("{}: cannot make the file: {}: make its folder writable, or choose another "
                                "results.path",
                                log_name(file).string(), std::strerror(errno));
}

ShardDisk::~ShardDisk() {
    commit();
    if (failure_.empty() && close()) ::unlink(log_name(path_).c_str());
}

/// False if the file has to stay as it is, with its log.
bool ShardDisk::close() {
    if (::ftruncate(file_.get(), static_cast<off_t>(end_)) != 0) return false;
    sums_.set({}, end_);
    auto const content = trailer(sums_);
    if (is_within_limit(end_ + content.size()) && write_at(file_, end_, content) == 0 &&
        (!is_durable_ || sync_all(file_) == 0))
        return true;
    return ::ftruncate(file_.get(), static_cast<off_t>(end_)) == 0 && false;
}

void ShardDisk::reserve(std::size_t bytes) {
    if (!failure_.empty() || end_ + bytes <= reserved_end_) return;
    auto const error = extend(file_, end_, bytes + reserve_step);
    if (error != 0) return fail(fmt::format("cannot reserve {} bytes: {}", bytes + reserve_step, std::strerror(error)));
    reserved_end_ = end_ + bytes + reserve_step;
}

void ShardDisk::keep(std::uint64_t end) { end_ = std::max(end_, end); }

/// With what is on disk of it.
Page& ShardDisk::waiting_page(std::uint64_t page) {
    auto const [at, is_new] = waiting_.try_emplace(page);
    if (!is_new) return at->second;
    at->second.resize(page_bytes);
    auto const is_written = page < sums_.sums.size() && sums_.sums[page] != 0;
    if (is_written && !read_at(file_, page * page_bytes, at->second)) fail("cannot read back what was written");
    return at->second;
}

void ShardDisk::write(std::uint64_t at, std::span<std::byte const> bytes) {
    if (!failure_.empty()) return;
    for_pages(at, bytes.size(), [&](std::uint64_t page, std::size_t offset, std::size_t from, std::size_t count) {
        std::memcpy(waiting_page(page).data() + offset, bytes.data() + from, count);
    });
    keep(at + bytes.size());
}

bool ShardDisk::read(std::uint64_t at, std::span<std::byte> bytes) const {
    bool is_read = true;
    for_pages(at, bytes.size(), [&](std::uint64_t page, std::size_t offset, std::size_t to, std::size_t count) {
        auto const out = bytes.subspan(to, count);
        auto const waiting = waiting_.find(page);
        if (waiting != waiting_.end())
            std::memcpy(out.data(), waiting->second.data() + offset, count);
        else if (page < sums_.sums.size() && sums_.sums[page] != 0)
            is_read = read_at(file_, page * page_bytes + offset, out) && is_read;
        else
            std::ranges::fill(out, std::byte{0});
    });
    return is_read;
}

/// The log first: from then on the batch is safe, whatever becomes of this process.
void ShardDisk::commit() {
    if (!failure_.empty() || (waiting_.empty() && sums_.end >= end_)) return;
    if (!append_to_log(pages_record(waiting_, end_, log_records_))) return;
    if (!put_in_place()) return;
    sums_.set(waiting_, end_);
    waiting_.clear();
    if (log_end_ > longest_log + 2 * sizeof(std::uint64_t) * sums_.sums.size()) shorten_log();
}

bool ShardDisk::append_to_log(base::Bytes const& record) {
    auto error = is_within_limit(log_end_ + record.size()) ? write_at(log_, log_end_, record) : EFBIG;
    if (error == 0 && is_durable_) error = sync_all(log_);
    if (error != 0) {
        fail(fmt::format("cannot write {} bytes: {}", record.size(), std::strerror(error)));
        return false;
    }
    log_end_ += record.size();
    ++log_records_;
    return true;
}

bool ShardDisk::put_in_place() {
    for (auto const& [page, bytes] : waiting_)
        if (auto const error = write_at(file_, page * page_bytes, bytes); error != 0) {
            fail(fmt::format("cannot write {} bytes: {}", bytes.size(), std::strerror(error)));
            return false;
        }
    return true;
}

/// Everything is in place: a new log that has the sums alone replaces the old one. If it cannot be made, the old one
/// stays in use.
void ShardDisk::shorten_log() {
    auto const temporary = temporary_name(log_name(path_));
    auto const content = sums_record(sums_, 0);
    auto made = make_new(temporary);
    auto const is_good = made.get() >= 0 && is_within_limit(content.size()) && write_at(made, 0, content) == 0 &&
                         (!is_durable_ || (sync_all(file_) == 0 && sync_all(made) == 0));
    if (!is_good || std::rename(temporary.c_str(), log_name(path_).c_str()) != 0) {
        if (made.get() >= 0) ::unlink(temporary.c_str());
        return;
    }
    log_ = std::move(made);
    log_end_ = content.size();
    log_records_ = 1;
    if (is_durable_) sync_folder_of(path_);
}

void ShardDisk::sync() {
    if (!failure_.empty()) return;
    auto error = sync_all(log_);
    if (error == 0) error = sync_all(file_);
    if (error != 0) return fail(fmt::format("cannot sync: {}", std::strerror(error)));
    if (!std::exchange(is_durable_, true)) sync_folder_of(path_);
}

void ShardDisk::fail(std::string why) {
    if (failure_.empty()) failure_ = std::move(why);
}

} // namespace espalier::store
