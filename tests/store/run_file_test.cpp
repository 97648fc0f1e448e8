#include "espalier/store/run_file.hpp"

#include "store/places.hpp"
#include "store/samples.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

namespace espalier::store {
namespace {

using testing::HasSubstr;

void expect_equal(Execution const& a, Execution const& b) {
    EXPECT_EQ(a.command_line, b.command_line);
    EXPECT_EQ(a.version, b.version);
    EXPECT_EQ(a.commit, b.commit);
    EXPECT_EQ(a.build, b.build);
    EXPECT_EQ(a.hosts, b.hosts);
    EXPECT_EQ(a.affinity, b.affinity);
    EXPECT_EQ(a.started_utc, b.started_utc);
    EXPECT_EQ(a.ended_utc, b.ended_utc);
    EXPECT_EQ(a.stop_reason, b.stop_reason);
    EXPECT_EQ(std::tie(a.ranks, a.threads, a.lost_ranks), std::tie(b.ranks, b.threads, b.lost_ranks));
    EXPECT_EQ(std::tie(a.seconds, a.cpu_seconds, a.peak_rss_bytes),
              std::tie(b.seconds, b.cpu_seconds, b.peak_rss_bytes));
    EXPECT_EQ(a.phases, b.phases);
    EXPECT_EQ(std::tie(a.trace_events, a.trace_shards), std::tie(b.trace_events, b.trace_shards));
}

void expect_equal(base::ProgressRecord const& a, base::ProgressRecord const& b) {
    EXPECT_EQ(std::tie(a.elapsed_s, a.nodes, a.nodes_per_s, a.queued),
              std::tie(b.elapsed_s, b.nodes, b.nodes_per_s, b.queued));
    EXPECT_EQ(std::tie(a.idle_threads, a.threads, a.results), std::tie(b.idle_threads, b.threads, b.results));
    EXPECT_EQ(std::tie(a.best, a.lost_ranks), std::tie(b.best, b.lost_ranks));
}

void expect_equal(search::ProblemInfo const& a, search::ProblemInfo const& b) {
    EXPECT_EQ(a.kind, b.kind);
    EXPECT_EQ(a.reasons, b.reasons);
    EXPECT_EQ(a.counters, b.counters);
    EXPECT_EQ(std::tie(a.has_bound, a.has_priority, a.is_counting, a.stages),
              std::tie(b.has_bound, b.has_priority, b.is_counting, b.stages));
}

template <class T>
void expect_all_equal(std::vector<T> const& a, std::vector<T> const& b) {
    ASSERT_EQ(a.size(), b.size());
    for (std::size_t i = 0; i < a.size(); ++i) expect_equal(a[i], b[i]);
}

void expect_equal(RunRecord const& a, RunRecord const& b) {
    EXPECT_EQ(a.identity, b.identity);
    EXPECT_EQ(a.config, b.config);
    EXPECT_EQ(a.problem_kind, b.problem_kind);
    expect_equal(a.info, b.info);
    EXPECT_EQ(a.counts, b.counts);
    EXPECT_EQ(a.results, b.results);
    expect_all_equal(a.progress, b.progress);
    expect_all_equal(a.executions, b.executions);
    EXPECT_EQ(std::tie(a.stop_reason, a.exit_code, a.stage), std::tie(b.stop_reason, b.exit_code, b.stage));
}

/// Changes the number of a scalar attribute in place: after the name (padded to 8 bytes) come 16 bytes of type and 8 of
/// shape, then the value.
void patch_attribute(std::filesystem::path const& file, std::string const& name, std::int32_t value) {
    auto text = read_text(file);
    auto const at = text.find(name + '\0');
    ASSERT_NE(at, std::string::npos);
    auto const value_at = at + (name.size() + 8) / 8 * 8 + 24;
    std::int32_t old = -1;
    std::memcpy(&old, text.data() + value_at, sizeof old);
    ASSERT_TRUE(old == schema_major || old == schema_minor);
    std::memcpy(text.data() + value_at, &value, sizeof value);
    write_text(file, text);
}

TEST(RunFile, reading_gives_back_what_was_written) {
    TemporaryFolder const folder;
    auto const file = folder.path() / "run.h5";

    write_run(file, samples::run());

    expect_equal(read_run(file), samples::run());
}

TEST(RunFile, an_empty_record_is_fine) {
    TemporaryFolder const folder;
    auto const file = folder.path() / "run.h5";

    write_run(file, RunRecord{});

    expect_equal(read_run(file), RunRecord{});
}

TEST(RunFile, a_record_before_the_first_count_reads_as_zeros) {
    TemporaryFolder const folder;
    auto const file = folder.path() / "run.h5";
    auto run = samples::run();
    run.counts = {};

    write_run(file, run);

    EXPECT_EQ(read_run(file).counts, search::zero_counts(run.info));
}

TEST(RunFile, many_large_results_round_trip) {
    TemporaryFolder const folder;
    auto const file = folder.path() / "run.h5";
    auto run = samples::run();
    for (int i = 0; i < 5000; ++i)
        run.results.push_back({.key = 1ull << 63 | static_cast<unsigned>(i),
                               .text = std::string(i % 300, 'x'),
                               .payload = base::Bytes(i % 70)});
    run.config.assign(200'000, 'c');

    write_run(file, run);

    expect_equal(read_run(file), run);
}

TEST(RunFile, a_second_write_replaces_the_first_and_leaves_nothing_else) {
    TemporaryFolder const folder;
    write_run(folder.path() / "run.h5", RunRecord{});

    write_run(folder.path() / "run.h5", samples::run());

    EXPECT_EQ(read_run(folder.path() / "run.h5").counts, samples::run().counts);
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);
}

TEST(RunFile, a_full_disk_leaves_the_old_file) {
    SmallDisk const disk("256k");
    if (!disk.is_mounted()) GTEST_SKIP() << "only root may mount a small file system";
    auto const file = disk.path() / "run.h5";
    write_run(file, samples::run());
    auto large = samples::run();
    for (std::uint64_t i = 0; i < 4000; ++i)
        large.results.push_back({.key = i * 0x9E3779B97F4A7C15ull, .text = std::string(100, 'x')});

    auto const message = message_of<base::SystemError>([&] { write_run(file, large); });

    EXPECT_THAT(message, HasSubstr("No space left on device"));
    EXPECT_THAT(message, HasSubstr(file.string()));
    expect_equal(read_run(file), samples::run());
    EXPECT_FALSE(std::filesystem::exists(disk.path() / "run.h5.tmp"));
}

TEST(RunFile, a_folder_that_is_missing_is_a_system_error) {
    EXPECT_THAT(message_of<base::SystemError>([] { write_run("/nowhere/at/all/run.h5", RunRecord{}); }),
                HasSubstr("No such file or directory"));
}

TEST(RunFile, a_newer_major_version_is_refused_with_both_versions) {
    TemporaryFolder const folder;
    auto const file = folder.path() / "run.h5";
    write_run(file, samples::run());
    patch_attribute(file, "schema_major", 7);

    auto const message = message_of<base::InputError>([&] { (void)read_run(file); });

    EXPECT_THAT(message, HasSubstr(file.string() + fmt::format(": is of schema version 7.{}", schema_minor)));
    EXPECT_THAT(message, HasSubstr(fmt::format("up to {}.{}", schema_major, schema_minor)));
}

TEST(RunFile, a_newer_minor_version_is_read) {
    TemporaryFolder const folder;
    auto const file = folder.path() / "run.h5";
    write_run(file, samples::run());
    patch_attribute(file, "schema_minor", 7);

    expect_equal(read_run(file), samples::run());
}

TEST(RunFile, what_is_no_run_file_is_an_input_error) {
    TemporaryFolder const folder;
    auto const text_file = folder.path() / "run.h5";
    write_text(text_file, "this is not HDF5");
    auto const shard = folder.path() / "shard.h5";
    { TraceShard const written(shard, samples::shard_info()); }

    EXPECT_THAT(message_of<base::InputError>([&] { (void)read_run(text_file); }), HasSubstr(text_file.string()));
    EXPECT_THAT(message_of<base::InputError>([&] { (void)read_run(shard); }), HasSubstr("no espalier run"));
    EXPECT_THAT(message_of<base::InputError>([&] { (void)read_run(folder.path() / "none.h5"); }),
                HasSubstr("No such file or directory"));
}

TEST(RunFile, a_truncated_file_is_an_input_error) {
    TemporaryFolder const folder;
    auto const file = folder.path() / "run.h5";
    write_run(file, samples::run());

    std::filesystem::resize_file(file, std::filesystem::file_size(file) / 2);

    EXPECT_THROW((void)read_run(file), base::InputError);
}

} // namespace
} // namespace espalier::store
