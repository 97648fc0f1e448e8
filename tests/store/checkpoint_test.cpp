#include "espalier/store/checkpoint.hpp"

#include "store/faults.hpp"
#include "store/places.hpp"
#include "store/samples.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <csignal>
#include <sys/wait.h>
#include <unistd.h>

namespace espalier::store {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

/// Two checkpoints; the older one says `results = 1`.
void write_two(fs::path const& folder) {
    auto older = samples::checkpoint();
    older.results = 1;
    older.number = 1;
    write_checkpoint(folder, older);
    write_checkpoint(folder, samples::checkpoint());
}

Checkpoint arbitrary_checkpoint() {
    Checkpoint checkpoint;
    checkpoint.identity_hash = *rc::gen::arbitrary<std::uint64_t>();
    checkpoint.stage = *rc::gen::arbitrary<std::int32_t>();
    checkpoint.counts.nodes = *rc::gen::arbitrary<std::uint64_t>();
    checkpoint.counts.funnel = *rc::gen::arbitrary<std::vector<std::uint64_t>>();
    checkpoint.counts.counters = *rc::gen::arbitrary<std::vector<std::uint64_t>>();
    checkpoint.incumbent = *rc::gen::arbitrary<double>();
    for (auto const& text : *rc::gen::arbitrary<std::vector<std::string>>())
        checkpoint.open.push_back({.bytes = samples::bytes(text),
                                   .depth = *rc::gen::arbitrary<std::int32_t>(),
                                   .priority = *rc::gen::arbitrary<double>()});
    checkpoint.emits.resize(*rc::gen::inRange<std::size_t>(0, 3), {.file = "emit/x.h5", .records = 5});
    checkpoint.total_seconds = *rc::gen::arbitrary<double>();
    return checkpoint;
}

TEST(Checkpoint, reading_gives_back_what_was_written) {
    TemporaryFolder const folder;

    write_checkpoint(folder.path(), samples::checkpoint());

    auto const loaded = read_checkpoint(folder.path());
    ASSERT_TRUE(loaded);
    EXPECT_EQ(loaded->checkpoint, samples::checkpoint());
    EXPECT_EQ(loaded->warning, "");
}

TEST(Checkpoint, any_checkpoint_round_trips) {
    TemporaryFolder const folder;
    EXPECT_TRUE(rc::check([&] {
        auto const checkpoint = arbitrary_checkpoint();
        write_checkpoint(folder.path(), checkpoint);
        RC_ASSERT(read_checkpoint(folder.path())->checkpoint == checkpoint);
    }));
}

TEST(Checkpoint, a_million_open_nodes_round_trip) {
    TemporaryFolder const folder;
    Checkpoint checkpoint;
    checkpoint.open.resize(1'000'000,
                           {.bytes = samples::bytes("a packed node of some length"), .depth = 9, .priority = 0.5});

    write_checkpoint(folder.path(), checkpoint);

    EXPECT_EQ(read_checkpoint(folder.path())->checkpoint, checkpoint);
}

TEST(Checkpoint, a_folder_without_one_has_none) {
    TemporaryFolder const folder;

    EXPECT_FALSE(read_checkpoint(folder.path()));
}

TEST(Checkpoint, the_previous_one_is_kept) {
    TemporaryFolder const folder;
    write_two(folder.path());

    fs::remove(folder.path() / "checkpoint.h5");

    auto const loaded = read_checkpoint(folder.path());
    EXPECT_EQ(loaded->checkpoint.results, 1);
    EXPECT_THAT(loaded->warning, HasSubstr("checkpoint.h5: it is missing"));
}

TEST(Checkpoint, any_flipped_byte_is_found_and_the_previous_one_is_taken) {
    TemporaryFolder const folder;
    write_two(folder.path());
    auto const file = folder.path() / "checkpoint.h5";
    auto const whole = read_text(file);

    for (std::size_t i = 0; i < whole.size(); i += 1 + whole.size() / 300) {
        auto damaged = whole;
        damaged[i] = static_cast<char>(damaged[i] ^ 0x10);
        write_text(file, damaged);
        auto const loaded = read_checkpoint(folder.path());
        ASSERT_EQ(loaded->checkpoint.results, 1) << "byte " << i;
        ASSERT_THAT(loaded->warning, HasSubstr(file.string())) << "byte " << i;
    }
}

TEST(Checkpoint, any_flipped_byte_of_the_seal_is_found) {
    TemporaryFolder const folder;
    write_two(folder.path());
    auto const file = folder.path() / "checkpoint.h5";
    auto const whole = read_text(file);

    for (std::size_t back = 1; back <= 24; ++back) {
        auto damaged = whole;
        damaged[whole.size() - back] = static_cast<char>(damaged[whole.size() - back] ^ 0x10);
        write_text(file, damaged);
        ASSERT_EQ(read_checkpoint(folder.path())->checkpoint.results, 1) << back;
    }
}

TEST(Checkpoint, any_truncation_is_found) {
    TemporaryFolder const folder;
    write_two(folder.path());
    auto const file = folder.path() / "checkpoint.h5";
    auto const whole = read_text(file);

    for (std::size_t size = 0; size < whole.size(); size += 1 + whole.size() / 300) {
        write_text(file, whole.substr(0, size));
        auto const loaded = read_checkpoint(folder.path());
        ASSERT_EQ(loaded->checkpoint.results, 1) << size << " bytes";
        ASSERT_THAT(loaded->warning, HasSubstr(size == 0 ? "it is empty" : "it "));
    }
}

TEST(Checkpoint, holds_the_run_record) {
    TemporaryFolder const folder;

    write_checkpoint(folder.path(), samples::checkpoint(), samples::run());

    auto const loaded = read_checkpoint(folder.path());
    EXPECT_EQ(loaded->record.results, samples::run().results);
    EXPECT_EQ(loaded->record.identity, samples::run().identity);
    EXPECT_EQ(loaded->record.executions.size(), 2);
}

TEST(Checkpoint, two_that_were_swapped_are_told_apart) {
    TemporaryFolder const folder;
    write_two(folder.path());
    fs::rename(folder.path() / "checkpoint.h5", folder.path() / "x");
    fs::rename(folder.path() / "checkpoint.previous.h5", folder.path() / "checkpoint.h5");
    fs::rename(folder.path() / "x", folder.path() / "checkpoint.previous.h5");

    auto const loaded = read_checkpoint(folder.path());

    EXPECT_EQ(loaded->checkpoint, samples::checkpoint());
    EXPECT_THAT(loaded->warning, HasSubstr("checkpoint.h5: it is older than another one"));
}

TEST(Checkpoint, is_on_disk_before_the_previous_one_gives_way) {
    TemporaryFolder const folder;
    write_checkpoint(folder.path(), samples::checkpoint());
    CallLog const log(folder.path());

    write_checkpoint(folder.path(), samples::checkpoint());

    EXPECT_EQ(log.calls(), (std::vector<std::string>{"write checkpoint.h5.tmp", "fsync checkpoint.h5.tmp",
                                                     "rename checkpoint.h5 checkpoint.previous.h5", "fsync .",
                                                     "rename checkpoint.h5.tmp checkpoint.h5", "fsync ."}));
}

TEST(Checkpoint, without_a_whole_one_the_remedy_is_named) {
    TemporaryFolder const folder;
    write_text(folder.path() / "checkpoint.h5", "");
    write_text(folder.path() / "checkpoint.previous.h5", std::string(100, 'x'));

    auto const message = message_of<base::InputError>([&] { (void)read_checkpoint(folder.path()); });

    EXPECT_THAT(message, HasSubstr("checkpoint.h5: it is empty"));
    EXPECT_THAT(message, HasSubstr("checkpoint.previous.h5: it is cut off"));
    EXPECT_THAT(message, HasSubstr("--force"));
}

TEST(Checkpoint, a_damaged_previous_one_alone_is_not_taken_for_none) {
    TemporaryFolder const folder;
    write_text(folder.path() / "checkpoint.previous.h5", std::string(100, 'x'));

    EXPECT_THROW((void)read_checkpoint(folder.path()), base::InputError);
}

TEST(Checkpoint, a_temporary_file_counts_only_if_it_is_whole) {
    TemporaryFolder const folder;
    write_checkpoint(folder.path(), samples::checkpoint());
    auto const unnamed = folder.path() / "checkpoint.h5.tmp";
    fs::rename(folder.path() / "checkpoint.h5", unnamed);

    EXPECT_EQ(read_checkpoint(folder.path())->checkpoint, samples::checkpoint());
    fs::resize_file(unnamed, 1000);
    EXPECT_FALSE(read_checkpoint(folder.path()));
}

TEST(Checkpoint, is_written_and_read_in_pieces_and_in_spite_of_signals) {
    TemporaryFolder const folder;
    Faults const faults({.most_bytes = 1000, .interruptions = 5});

    write_checkpoint(folder.path(), samples::checkpoint(), samples::run());
    auto const loaded = read_checkpoint(folder.path());

    ASSERT_TRUE(loaded);
    EXPECT_EQ(loaded->checkpoint, samples::checkpoint());
    EXPECT_EQ(loaded->record.results, samples::run().results);
}

// --- what a killed execution cost

RunRecord executions_of(double seconds, double cpu_seconds, std::string const& last_reason) {
    RunRecord record;
    record.executions.resize(2);
    record.executions[0].seconds = seconds;
    record.executions[0].cpu_seconds = cpu_seconds;
    record.executions[1].seconds = 3; // as far as it had noted
    record.executions[1].cpu_seconds = 4;
    record.executions[1].stop_reason = last_reason;
    return record;
}

TEST(CloseInterrupted, gives_a_killed_execution_what_the_checkpoint_knows_and_earlier_ones_did_not_take) {
    auto record = executions_of(10, 20, "running");

    close_interrupted(record, {.total_seconds = 15, .total_cpu_seconds = 26});

    EXPECT_EQ(record.executions[0].seconds, 10);
    EXPECT_EQ(record.executions[1].seconds, 5);
    EXPECT_EQ(record.executions[1].cpu_seconds, 6);
    EXPECT_EQ(record.executions[1].stop_reason, "interrupted");
}

TEST(CloseInterrupted, never_gives_less_than_nothing) {
    auto record = executions_of(10, 20, "running");

    close_interrupted(record, {});

    EXPECT_EQ(record.executions[1].seconds, 0);
    EXPECT_EQ(record.executions[1].cpu_seconds, 0);
}

TEST(CloseInterrupted, leaves_an_execution_that_ended_as_it_is) {
    auto record = executions_of(10, 20, "signal");

    close_interrupted(record, {.total_seconds = 15, .total_cpu_seconds = 26});

    EXPECT_EQ(record.executions[1].seconds, 3);
    EXPECT_EQ(record.executions[1].cpu_seconds, 4);
    EXPECT_EQ(record.executions[1].stop_reason, "signal");
}

TEST(Checkpoint, a_full_disk_leaves_the_last_good_one) {
    SmallDisk const disk("128k");
    if (!disk.is_mounted()) GTEST_SKIP() << "only root may mount a small file system";
    write_two(disk.path());
    auto large = samples::checkpoint();
    base::Bytes noise(1'000'000);
    for (std::size_t i = 0; i < noise.size(); ++i) noise[i] = static_cast<std::byte>((i * 2654435761u) >> 13);
    large.open.push_back({.bytes = noise});

    EXPECT_THAT(message_of<base::SystemError>([&] { write_checkpoint(disk.path(), large); }),
                HasSubstr("No space left on device"));

    EXPECT_EQ(read_checkpoint(disk.path())->checkpoint, samples::checkpoint());
    EXPECT_FALSE(fs::exists(disk.path() / "checkpoint.h5.tmp"));
}

/// Writes checkpoints until it is killed.
[[noreturn]] void write_for_ever(fs::path const& folder, int ready) {
    auto checkpoint = samples::checkpoint();
    for (checkpoint.results = 0;; ++checkpoint.results) {
        write_checkpoint(folder, checkpoint);
        if (checkpoint.results == 0 && ::write(ready, "x", 1) != 1) ::_exit(1);
    }
}

TEST(Checkpoint, a_writer_killed_at_any_time_leaves_a_good_one) {
    for (int round = 0; round < 20; ++round) {
        TemporaryFolder const folder;
        int ready[2];
        ASSERT_EQ(::pipe(ready), 0);
        auto const child = ::fork();
        if (child == 0) write_for_ever(folder.path(), ready[1]);
        char byte = 0;
        ASSERT_EQ(::read(ready[0], &byte, 1), 1);
        ::usleep(static_cast<unsigned>(round) * 701);
        ::kill(child, SIGKILL);
        ::waitpid(child, nullptr, 0);
        ::close(ready[0]);
        ::close(ready[1]);

        auto loaded = read_checkpoint(folder.path());

        ASSERT_TRUE(loaded);
        loaded->checkpoint.results = samples::checkpoint().results;
        ASSERT_EQ(loaded->checkpoint, samples::checkpoint());
    }
}

} // namespace
} // namespace espalier::store
