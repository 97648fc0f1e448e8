#include "espalier/store/times.hpp"

#include "files.hpp"
#include "h5_errors.hpp"
#include "seal.hpp"
#include "table.hpp"

#include "espalier/base/log.hpp"
#include "espalier/base/system.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fcntl.h>
#include <map>
#include <sys/file.h>
#include <thread>

namespace espalier::store {
namespace {

namespace fs = std::filesystem;
using search::MeasuredTime;
using search::TimeKey;

constexpr std::string_view format = "espalier times";
constexpr std::string_view remedy = "remove it, or name another file of measured times";
constexpr std::size_t most_times = 50'000; ///< the oldest are forgotten

/// Held while the file is changed: the change takes milliseconds, so that a few seconds are enough for everybody.
class TimesLock {
public:
    explicit TimesLock(fs::path const& file) : descriptor_(open_lock(file)) {
        using namespace std::chrono_literals;
        for (auto const end = base::steady_ns() + patience_ns; !is_locked(); std::this_thread::sleep_for(5ms))
            if (base::steady_ns() > end)
                throw base::SystemError("{}: another process has locked it for {} s: look for one that hangs",
                                        file.string(), patience_ns / 1'000'000'000);
    }

private:
    static constexpr std::int64_t patience_ns = 10'000'000'000;

    static Descriptor open_lock(fs::path const& file) {
        Descriptor opened(::open(file.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0666));
        if (opened.get() < 0)
            throw base::SystemError("{}: cannot make the lock file: {}: make its folder writable, or name another file "
                                    "of measured times",
                                    file.string(), std::strerror(errno));
        return opened;
    }
    /// Where there is no flock, who renames last wins, and the file is whole.
    [[nodiscard]] bool is_locked() const {
        return ::flock(descriptor_.get(), LOCK_EX | LOCK_NB) == 0 || (errno != EWOULDBLOCK && errno != EINTR);
    }

    Descriptor descriptor_;
};

std::vector<MeasuredTime> rows_in(fs::path const& file, hid_t at) {
    h5::check_schema(file, at, format);
    h5::TableReader const table(at, "times");
    std::vector<MeasuredTime> out(table.rows());
    std::vector<TimeKey> keys(out.size());
    h5::assign(keys, &TimeKey::what, table.numbers<std::uint64_t>("what"));
    h5::assign(keys, &TimeKey::threads, table.numbers<std::int32_t>("threads"));
    h5::assign(keys, &TimeKey::machine, table.texts("machine"));
    h5::assign(keys, &TimeKey::compiler, table.texts("compiler"));
    h5::assign(out, &MeasuredTime::key, std::move(keys));
    h5::assign(out, &MeasuredTime::ms, table.numbers<double>("ms"));
    h5::assign(out, &MeasuredTime::low, table.numbers<double>("low"));
    h5::assign(out, &MeasuredTime::high, table.numbers<double>("high"));
    h5::assign(out, &MeasuredTime::details, table.texts("details"));
    return out;
}

base::Bytes image_of(std::vector<MeasuredTime> const& times) {
    auto const file = h5::create_in_memory();
    auto const of_key = [&](auto member) {
        return h5::project(times, [=](auto const& time) { return time.key.*member; });
    };
    h5::set_schema(file, format);
    auto const data = h5::TableWriter(times.size())
                          .numbers("what", of_key(&TimeKey::what))
                          .numbers("threads", of_key(&TimeKey::threads))
                          .texts("machine", of_key(&TimeKey::machine))
                          .texts("compiler", of_key(&TimeKey::compiler))
                          .numbers("ms", h5::project(times, &MeasuredTime::ms))
                          .numbers("low", h5::project(times, &MeasuredTime::low))
                          .numbers("high", h5::project(times, &MeasuredTime::high))
                          .texts("details", h5::project(times, &MeasuredTime::details))
                          .write(file, "times");
    h5::set_text(data, "units", "ms=ms; low=ms; high=ms");
    return h5::image_of(file);
}

/// `damage` is empty if it is whole.
std::vector<MeasuredTime> read_if_whole(fs::path const& file, std::string& damage) {
    if (!fs::exists(fs::symlink_status(file))) return {};
    auto const sealed = read_sealed(file);
    damage = sealed.damage;
    if (!damage.empty()) return {};
    return h5::reading(
        file, [&] { return rows_in(file, h5::open_image(sealed.image)); }, remedy);
}

void set_aside(fs::path const& file, std::string const& damage) {
    auto const name = file.string() + ".damaged";
    std::error_code ignored;
    fs::rename(file, name, ignored);
    base::log::warn("{}: {}: it was renamed to {}, and a new one is made", file.string(), damage, name);
}

/// Later ones of a key replace earlier ones.
std::vector<MeasuredTime> joined(std::vector<MeasuredTime> times, std::span<MeasuredTime const> more) {
    std::map<TimeKey, std::size_t> places;
    for (std::size_t i = 0; i < times.size(); ++i) places.emplace(times[i].key, i);
    for (auto const& time : more) {
        auto const [found, is_new] = places.try_emplace(time.key, times.size());
        if (is_new)
            times.push_back(time);
        else
            times[found->second] = time;
    }
    if (times.size() > most_times) times.erase(times.begin(), times.end() - most_times);
    return times;
}

} // namespace

TimesFile TimesFile::of(std::string const& name) {
    if (!name.empty()) return TimesFile(name);
    return TimesFile(base::cache_folder() / "times.h5", IfDamaged::set_aside);
}

std::vector<MeasuredTime> TimesFile::read() const {
    std::string damage;
    auto times = read_if_whole(file_, damage);
    if (damage.empty()) return times;
    if (damaged_ == IfDamaged::refuse)
        throw base::InputError("{}: {} (it should be a file of measured times): {}", file_.string(), damage, remedy);
    set_aside(file_, damage);
    return {};
}

void TimesFile::add(std::span<MeasuredTime const> times) const {
    if (times.empty()) return;
    std::error_code ignored; // what is wrong with the folder, the lock says
    fs::create_directories(fs::absolute(file_).parent_path(), ignored);
    TimesLock const lock(file_.string() + ".lock");
    auto content = h5::writing(file_, [&] { return image_of(joined(read(), times)); });
    seal(content);
    write_synced(temporary_name(file_), content);
    rename_synced(temporary_name(file_), file_);
}

MeasuredTime const* find_time(std::span<MeasuredTime const> times, TimeKey const& key) {
    auto const found = std::ranges::find(times, key, &MeasuredTime::key);
    return found == times.end() ? nullptr : &*found;
}

} // namespace espalier::store
