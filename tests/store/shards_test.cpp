#include "espalier/store/shards.hpp"

#include "store/faults.hpp"
#include "store/places.hpp"
#include "store/samples.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace espalier::store {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

auto fields(trace::Event const& e) {
    return std::tie(e.start_ns, e.duration_ns, e.useful_ns, e.id, e.parent, e.nodes, e.prunes, e.bytes, e.peer, e.depth,
                    e.thread, e.merged, e.kind, e.roots);
}

/// The first `count` of the sample events, and nothing else.
void expect_samples(fs::path const& file, std::size_t count) {
    auto const loaded = read_trace_shard(file);
    ASSERT_EQ(loaded.events.size(), count);
    for (std::uint32_t i = 0; i < count; ++i) ASSERT_EQ(fields(loaded.events[i]), fields(samples::event(i))) << i;
}

/// Appends batches of sample events until it fails; returns how many were written.
std::uint64_t fill(TraceShard& shard) {
    while (true) {
        std::vector<trace::Event> batch;
        for (std::uint32_t i = 0; i < 500; ++i)
            batch.push_back(samples::event(static_cast<std::uint32_t>(shard.events()) + i));
        try {
            shard.append(batch);
        } catch (base::SystemError const&) {
            return shard.events();
        }
    }
}

/// No file may become longer than this, as on a file system that cannot reserve space.
class FileSizeLimit {
public:
    explicit FileSizeLimit(rlim_t bytes) : old_handler_(std::signal(SIGXFSZ, SIG_IGN)) {
        ::getrlimit(RLIMIT_FSIZE, &old_);
        rlimit const limit{bytes, old_.rlim_max};
        ::setrlimit(RLIMIT_FSIZE, &limit);
    }
    ~FileSizeLimit() {
        ::setrlimit(RLIMIT_FSIZE, &old_);
        std::signal(SIGXFSZ, old_handler_);
    }
    FileSizeLimit(FileSizeLimit const&) = delete;
    FileSizeLimit& operator=(FileSizeLimit const&) = delete;

private:
    rlimit old_{};
    sighandler_t old_handler_;
};

TEST(TraceShard, times_by_outcome_come_with_their_samples) {
    TemporaryFolder const folder;
    auto const file = folder.path() / "shard.h5";
    {
        TraceShard shard(file, {.rank = 1, .threads = 2, .host = "node"}, {"expand", "leaf"});
        shard.set_outcomes(std::vector<std::int64_t>{70, 30}, std::vector<std::int64_t>{7, 3});
        shard.append(std::vector{samples::event(0)});
    }

    std::vector<OutcomeTime> const expected{{"expand", 70, 7}, {"leaf", 30, 3}};
    EXPECT_EQ(TraceReader(file).outcomes(), expected);
}

TEST(TraceShard, reading_gives_back_what_was_appended) {
    TemporaryFolder const folder;
    auto const file = folder.path() / "trace/segment-001/rank-000003.h5";
    auto const all = samples::events(10'000);
    {
        TraceShard shard(file, samples::shard_info());
        shard.append(std::span(all).first(3));
        shard.append({});
        shard.append(std::span(all).subspan(3));
        EXPECT_EQ(shard.events(), 10'000);
    }

    expect_samples(file, 10'000);
    EXPECT_EQ(read_trace_shard(file).info, samples::shard_info());
}

TEST(TraceShard, the_clock_offset_can_be_set_later) {
    TemporaryFolder const folder;
    auto const file = folder.path() / "shard.h5";
    TraceShard shard(file, samples::shard_info());

    shard.set_clock_offset(123);

    EXPECT_EQ(read_trace_shard(file).info.clock_offset_ns, 123);
}

TEST(TraceShard, can_be_read_while_it_is_written) {
    TemporaryFolder const folder;
    auto const file = folder.path() / "shard.h5";
    TraceShard shard(file, samples::shard_info());

    shard.append(samples::events(5));
    expect_samples(file, 5);

    shard.append(std::vector{samples::event(5)});
    expect_samples(file, 6);
}

TEST(TraceShard, small_batches_do_not_waste_space) {
    TemporaryFolder const folder;
    auto const at_once = folder.path() / "at_once.h5";
    auto const in_parts = folder.path() / "in_parts.h5";
    auto const all = samples::events(20'000);

    TraceShard(at_once, samples::shard_info()).append(all);
    {
        TraceShard shard(in_parts, samples::shard_info());
        for (std::size_t i = 0; i < all.size(); i += 100) shard.append(std::span(all).subspan(i, 100));
    }

    expect_samples(in_parts, 20'000);
    EXPECT_LT(fs::file_size(in_parts), 3 * fs::file_size(at_once) + 100'000);
}

/// Appends batches until it is killed.
[[noreturn]] void append_for_ever(fs::path const& file, int ready) {
    TraceShard shard(file, samples::shard_info());
    auto const all = samples::events(70'000);
    for (std::size_t i = 0; i < all.size(); i += 700) {
        shard.append(std::span(all).subspan(i, 700));
        if (i == 0 && ::write(ready, "x", 1) != 1) ::_exit(1);
    }
    while (true) ::pause();
}

TEST(TraceShard, a_writer_killed_at_any_time_leaves_a_readable_file) {
    for (int round = 0; round < 20; ++round) {
        TemporaryFolder const folder;
        auto const file = folder.path() / "shard.h5";
        int ready[2];
        ASSERT_EQ(::pipe(ready), 0);
        auto const child = ::fork();
        if (child == 0) append_for_ever(file, ready[1]);
        char byte = 0;
        ASSERT_EQ(::read(ready[0], &byte, 1), 1);
        ::usleep(static_cast<unsigned>(round) * 1501);
        ::kill(child, SIGKILL);
        ::waitpid(child, nullptr, 0);
        ::close(ready[0]);
        ::close(ready[1]);

        auto const loaded = read_trace_shard(file);
        ASSERT_GE(loaded.events.size(), 700);
        expect_samples(file, loaded.events.size());
    }
}

TEST(TraceShard, a_full_disk_leaves_what_was_written) {
    SmallDisk const disk("1200k");
    if (!disk.is_mounted()) GTEST_SKIP() << "only root may mount a small file system";
    auto const file = disk.path() / "shard.h5";
    std::uint64_t written = 0;
    {
        TraceShard shard(file, samples::shard_info());
        written = fill(shard);
        EXPECT_GT(written, 0);
        EXPECT_THAT(message_of<base::SystemError>([&] { shard.append(samples::events(1)); }),
                    HasSubstr("No space left on device"));
    }

    expect_samples(file, written);
}

TEST(TraceShard, a_full_disk_that_cannot_reserve_leaves_what_was_written) {
    SmallDisk const disk("1200k");
    if (!disk.is_mounted()) GTEST_SKIP() << "only root may mount a small file system";
    auto const file = disk.path() / "shard.h5";
    std::uint64_t written = 0;
    {
        Faults const faults({.has_no_fallocate = true});
        TraceShard shard(file, samples::shard_info());
        written = fill(shard);
    }

    EXPECT_GT(written, 0);
    expect_samples(file, written);
}

TEST(TraceShard, a_limit_on_file_sizes_leaves_what_was_written) {
    TemporaryFolder const folder;
    auto const file = folder.path() / "shard.h5";
    std::uint64_t written = 0;
    {
        FileSizeLimit const limit(1'200'000);
        TraceShard shard(file, samples::shard_info());
        written = fill(shard);
        EXPECT_THAT(message_of<base::SystemError>([&] { shard.append(samples::events(1)); }),
                    HasSubstr("File too large"));
    }

    EXPECT_GT(written, 0);
    expect_samples(file, written);
}

TEST(TraceShard, gives_back_the_space_that_it_reserved) {
    TemporaryFolder const folder;
    for (bool const has_no_fallocate : {false, true}) {
        Faults const faults({.has_no_fallocate = has_no_fallocate});
        auto const file = folder.path() / "shard.h5";

        TraceShard(file, samples::shard_info()).append(samples::events(10));

        struct stat status {};
        ASSERT_EQ(::stat(file.c_str(), &status), 0);
        EXPECT_LT(status.st_size, 300'000);
        EXPECT_LT(status.st_blocks * 512, 300'000);
        expect_samples(file, 10);
    }
}

TEST(TraceShard, a_device_that_fails_at_any_write_is_survived) {
    TemporaryFolder const folder;
    for (int good_writes = 0; good_writes < 40; ++good_writes) {
        Faults const faults({.good_writes = good_writes});
        try {
            TraceShard shard(folder.path() / "shard.h5", samples::shard_info());
            auto const written = fill(shard);
            EXPECT_THROW(shard.append(samples::events(5000)), base::SystemError);
            EXPECT_THROW(shard.set_clock_offset(1), base::SystemError);
            EXPECT_EQ(shard.events(), written);
        } catch (base::SystemError const& error) {
            EXPECT_THAT(error.what(), HasSubstr("Input/output error"));
        }
    }
}

TEST(TraceShard, a_disk_that_is_full_from_the_start_is_a_system_error) {
    SmallDisk const disk("4k");
    if (!disk.is_mounted()) GTEST_SKIP() << "only root may mount a small file system";

    EXPECT_THAT(message_of<base::SystemError>([&] { TraceShard(disk.path() / "shard.h5", samples::shard_info()); }),
                HasSubstr("No space left on device"));
}

TEST(TraceShard, a_place_that_cannot_be_written_is_a_system_error) {
    EXPECT_THROW(TraceShard("/proc/nothing/shard.h5", samples::shard_info()), base::SystemError);
}

TEST(TraceShard, reading_what_is_no_shard_is_an_input_error) {
    TemporaryFolder const folder;
    EmitShard(folder.path() / "emit.h5").append(std::vector<search::EmitRecord>{{1, {}}});
    EXPECT_THAT(message_of<base::InputError>([&] { (void)read_trace_shard(folder.path() / "emit.h5"); }),
                HasSubstr("not an espalier trace shard file"));
    write_run(folder.path() / "run.h5", samples::run());

    EXPECT_THAT(message_of<base::InputError>([&] { (void)read_trace_shard(folder.path() / "run.h5"); }),
                HasSubstr("its checksums are missing or wrong"));
    EXPECT_THROW((void)read_trace_shard(folder.path() / "none.h5"), base::InputError);
}

/// Only complete batches are there, wherever the writer stops. `stop` is how many of its writes reach the
/// disk.
void expect_whole_batches(fs::path const& file, int stop, bool is_torn) {
    constexpr std::size_t batch = 1500; // not a divisor of a chunk: some batches fill one, some do not
    auto const all = samples::events(9 * batch);
    std::size_t done = 0;
    {
        Faults const faults({.good_writes = stop, .is_last_torn = is_torn});
        try {
            TraceShard shard(file, samples::shard_info());
            for (; done < all.size(); done += batch) shard.append(std::span(all).subspan(done, batch));
        } catch (base::SystemError const&) { // as if it had been killed
        }
    }
    std::size_t found = 0;
    try {
        auto const loaded = read_trace_shard(file);
        found = loaded.events.size();
        ASSERT_EQ(loaded.warning, "") << stop;
    } catch (base::InputError const&) {
        ASSERT_EQ(done, 0) << stop << ": unreadable though a batch was appended";
        return;
    }
    ASSERT_TRUE(found == done || found == done + batch) << stop << ": " << found << " of " << done;
    expect_samples(file, found);
}

TEST(TraceShard, a_writer_that_stops_at_any_write_leaves_whole_batches) {
    TemporaryFolder const folder;
    auto const file = folder.path() / "shard.h5";
    for (int stop = 0; stop < 600; stop += 21) {
        expect_whole_batches(file, stop, stop % 2 == 1);
        if (HasFatalFailure()) return;
    }
}

TEST(TraceShard, a_batch_is_in_the_log_before_it_is_in_place) {
    TemporaryFolder const folder;
    TraceShard shard(folder.path() / "shard.h5", samples::shard_info());
    CallLog const log(folder.path());

    shard.append(samples::events(10));

    EXPECT_EQ(log.calls(), (std::vector<std::string>{"write shard.h5.log", "write shard.h5"}));
}

TEST(TraceShard, rows_of_the_tail_count_once) {
    TemporaryFolder const folder;
    auto const file = folder.path() / "shard.h5";
    TraceShard shard(file, samples::shard_info());
    auto const all = samples::events(3 * 4096 + 5);
    std::size_t done = 0;
    for (std::size_t const count : {4095, 1, 1, 4096, 4095, 5}) { // to the chunk's border, on it, and over it
        shard.append(std::span(all).subspan(done, count));
        done += count;

        expect_samples(file, done);
    }
}

TEST(TraceShard, a_long_log_is_replaced_by_a_short_one) {
    TemporaryFolder const folder;
    auto const file = folder.path() / "shard.h5";
    auto const all = samples::events(100'000);
    TraceShard shard(file, samples::shard_info());

    for (std::size_t i = 0; i < all.size(); i += 500) {
        shard.append(std::span(all).subspan(i, 500));
        ASSERT_LT(fs::file_size(folder.path() / "shard.h5.log"), 1'500'000);
    }

    expect_samples(file, 100'000);
}

TEST(TraceShard, a_closed_one_needs_no_log) {
    TemporaryFolder const folder;
    TraceShard(folder.path() / "shard.h5", samples::shard_info()).append(samples::events(5000));

    EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), {}), 1);
    expect_samples(folder.path() / "shard.h5", 5000);
}

TEST(TraceShard, a_reader_never_minds_the_writer) {
    TemporaryFolder const folder;
    auto const file = folder.path() / "shard.h5";
    int ready[2];
    ASSERT_EQ(::pipe(ready), 0);
    auto const child = ::fork();
    if (child == 0) append_for_ever(file, ready[1]);
    char byte = 0;
    ASSERT_EQ(::read(ready[0], &byte, 1), 1);

    for (int i = 0; i < 30; ++i) {
        auto const loaded = read_trace_shard(file);
        EXPECT_EQ(loaded.warning, "");
        EXPECT_EQ(loaded.events.size() % 700, 0);
    }

    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    ::close(ready[0]);
    ::close(ready[1]);
}

TEST(TraceShard, a_link_in_the_place_of_a_shard_is_replaced) {
    TemporaryFolder const folder;
    auto const victim = folder.path() / "victim";
    write_text(victim, "precious");
    fs::create_symlink(victim, folder.path() / "shard.h5");
    fs::create_symlink(victim, folder.path() / "shard.h5.log");

    TraceShard(folder.path() / "shard.h5", samples::shard_info()).append(samples::events(5));

    EXPECT_EQ(read_text(victim), "precious");
    expect_samples(folder.path() / "shard.h5", 5);
}

} // namespace
} // namespace espalier::store
