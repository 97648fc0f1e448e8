#include "espalier/store/run_file.hpp"

#include "h5_errors.hpp"
#include "run_image.hpp"
#include "seal.hpp"
#include "store/faults.hpp"
#include "store/places.hpp"
#include "store/samples.hpp"
#include "table.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <sys/stat.h>

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
    EXPECT_EQ(std::tie(a.execution, a.wall_s, a.improved_s), std::tie(b.execution, b.wall_s, b.improved_s));
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

constexpr std::size_t seal_bytes = 24;

/// As a whole file with this content.
void write_sealed(std::filesystem::path const& file, std::string const& content) {
    auto image = samples::bytes(content);
    seal(image);
    write_text(file, {reinterpret_cast<char const*>(image.data()), image.size()});
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
    write_sealed(file, text.substr(0, text.size() - seal_bytes));
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
    SmallDisk const disk("96k");
    if (!disk.is_mounted()) GTEST_SKIP() << "only root may mount a small file system";
    auto const file = disk.path() / "run.h5";
    write_run(file, samples::run());
    auto large = samples::run();
    for (std::uint64_t i = 0; i < 4000; ++i)
        large.results.push_back(
            {.key = i * 0x9E3779B97F4A7C15ull, .text = fmt::format("{0:x}{0}", i * i * 2654435761u)});

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
    EXPECT_THAT(message, HasSubstr(fmt::format("reads version {} (a newer", schema_major)));
}

TEST(RunFile, a_newer_minor_version_is_read) {
    TemporaryFolder const folder;
    auto const file = folder.path() / "run.h5";
    write_run(file, samples::run());
    patch_attribute(file, "schema_minor", 7);

    expect_equal(read_run(file), samples::run());
}

TEST(RunFile, a_file_of_the_first_layout_is_refused_by_its_version) {
    TemporaryFolder const folder;
    auto const file = folder.path() / "run.h5";
    write_run(file, samples::run());
    patch_attribute(file, "schema_major", 1);
    auto const sealed = message_of<base::InputError>([&] { (void)read_run(file); });
    auto const text = read_text(file);
    write_text(file, text.substr(0, text.size() - seal_bytes)); // as version 1 was

    auto const unsealed = message_of<base::InputError>([&] { (void)read_run(file); });

    EXPECT_THAT(sealed, HasSubstr("is of schema version 1.0, but this program reads version 2 (an older espalier"));
    EXPECT_THAT(unsealed, HasSubstr("it has no seal: an older espalier wrote it (schema version 1)"));
    EXPECT_THAT(unsealed, HasSubstr("--force"));
}

TEST(RunFile, what_is_no_run_file_is_an_input_error) {
    TemporaryFolder const folder;
    auto const text_file = folder.path() / "run.h5";
    write_text(text_file, "this is not HDF5, and it is longer than a seal");
    write_checkpoint(folder.path(), samples::checkpoint());

    EXPECT_THAT(message_of<base::InputError>([&] { (void)read_run(text_file); }), HasSubstr(text_file.string()));
    EXPECT_THAT(message_of<base::InputError>([&] { (void)read_run(folder.path() / "checkpoint.h5"); }),
                HasSubstr("not an espalier run file"));
    EXPECT_THAT(message_of<base::InputError>([&] { (void)read_run(folder.path() / "none.h5"); }),
                HasSubstr("No such file or directory"));
    EXPECT_THAT(message_of<base::InputError>([&] { (void)read_run(folder.path()); }), HasSubstr("not a plain file"));
}

TEST(RunFile, a_damaged_one_says_what_can_be_saved) {
    TemporaryFolder const folder;
    auto const file = folder.path() / "run.h5";
    write_run(file, samples::run());
    auto text = read_text(file);
    text[text.size() / 2] = static_cast<char>(text[text.size() / 2] ^ 1);
    write_text(file, text);

    auto const alone = message_of<base::InputError>([&] { (void)read_run(file); });
    write_checkpoint(folder.path(), samples::checkpoint(), samples::run());
    auto const beside = message_of<base::InputError>([&] { (void)read_run(file); });

    EXPECT_THAT(alone, HasSubstr(file.string() + ": its checksum is wrong"));
    EXPECT_THAT(alone, HasSubstr("nothing can be saved: --force"));
    EXPECT_THAT(beside, HasSubstr("its checkpoint is intact (1000 nodes, 2 results)"));
    EXPECT_THAT(beside, HasSubstr("--repair"));
}

TEST(RunFile, has_nothing_in_the_global_heap) {
    TemporaryFolder const folder;
    auto const file = folder.path() / "run.h5";

    write_run(file, samples::run());

    EXPECT_EQ(read_text(file).find("GCOL"), std::string::npos); // the mark of a global heap, see the HDF5 file format
}

TEST(RunFile, a_writer_that_is_used_again_writes_what_a_new_one_would) {
    TemporaryFolder const folder;
    auto const file = folder.path() / "run.h5";
    auto run = samples::run();
    run.results.clear();
    RunWriter writer;
    auto const expect_same = [&] {
        writer.write(file, run);
        expect_equal(read_run(file), run);
    };

    expect_same();
    for (std::uint64_t i = 0; i < 5000; ++i) {
        run.results.push_back(
            {.key = i, .text = std::string(i % 90, 'a'), .payload = base::Bytes(i % 7), .found_s = 1});
        if (i % 499 == 0) expect_same();
    }
    run.results.erase(run.results.begin() + 17); // branch and bound
    expect_same();
    run.results.resize(3);
    expect_same();
}

/// A run whose image `change` had in its hands before it was sealed.
void write_changed(std::filesystem::path const& file, std::function<void(hid_t)> const& change) {
    EncodedResults results;
    auto const image = h5::create_in_memory();
    write_record(image, samples::run(), results);
    change(image);
    auto const content = h5::image_of(image);
    write_sealed(file, {reinterpret_cast<char const*>(content.data()), content.size()});
}

/// Writes this into the offsets of payloads; what follows the last of them makes their list longer.
void set_offset(hid_t image, std::uint64_t row, std::uint64_t value) {
    auto const offsets = h5::open_dataset(h5::open_group(image, "programs"), "offsets");
    if (row < h5::rows(offsets))
        h5::write_rows(offsets, h5::native<std::uint64_t>(), &value, {.first = row, .count = 1});
    else
        h5::append(offsets, h5::native<std::uint64_t>(), &value, 1);
}

TEST(RunFile, payloads_that_end_too_late_before_they_begin_or_without_a_result_are_refused) {
    TemporaryFolder const folder;
    auto const file = folder.path() / "run.h5";
    auto const payloads = samples::run().results[0].payload.size(); // the second one is empty
    write_changed(file, [&](hid_t image) { set_offset(image, 2, payloads); });
    expect_equal(read_run(file), samples::run());

    for (auto const& [row, value] :
         std::vector<std::pair<std::uint64_t, std::uint64_t>>{{2, payloads + 1}, {1, payloads + 1}, {3, payloads}}) {
        write_changed(file, [row = row, value = value](hid_t image) { set_offset(image, row, value); });
        EXPECT_THAT(message_of<base::InputError>([&] { (void)read_run(file); }), HasSubstr("does not match /results"))
            << row;
    }
}

TEST(RunFile, hosts_of_an_execution_that_is_not_there_are_refused) {
    TemporaryFolder const folder;
    auto const file = folder.path() / "run.h5";

    for (std::uint32_t const execution : {1, 2}) {
        write_changed(file, [&](hid_t image) {
            auto const meta = h5::open_group(image, "meta");
            h5::check(H5Ldelete(meta, "hosts", H5P_DEFAULT), "remove the hosts");
            h5::TableWriter(1)
                .numbers("execution", std::vector<std::uint32_t>{execution})
                .numbers("rank", std::vector<std::uint32_t>{0})
                .texts("host", {"node"})
                .write(meta, "hosts");
        });
        EXPECT_EQ(message_of<base::InputError>([&] { (void)read_run(file); }).empty(), execution == 1);
    }
}

TEST(RunFile, values_that_an_enum_does_not_have_are_refused) {
    auto const image = h5::create_in_memory();
    std::array<std::string_view, 2> const names{"a", "b"};
    h5::TableWriter(3).enums("kind", names, {0, 1, 1}).write(image, "good");
    h5::TableWriter(3).enums("kind", names, {0, 1, 2}).write(image, "bad");

    EXPECT_EQ(h5::TableReader(image, "good").enums("kind", 2), (std::vector<std::uint8_t>{0, 1, 1}));
    EXPECT_THROW((void)h5::TableReader(image, "bad").enums("kind", 2), h5::Failure);
}

TEST(RunFile, results_are_numbered_over_all_writes) {
    TemporaryFolder const folder;
    auto const file = folder.path() / "run.h5";
    auto run = samples::run();
    RunWriter writer;
    writer.write(file, run);
    run.results.push_back({.key = 99});

    writer.write(file, run);

    auto const sealed = read_sealed(file);
    auto const image = h5::open_image(sealed.image);
    EXPECT_EQ(h5::TableReader(image, "results").numbers<std::uint64_t>("id"), (std::vector<std::uint64_t>{0, 1, 2}));
}

TEST(RunFile, a_pipe_is_refused_without_waiting_for_a_writer) {
    TemporaryFolder const folder;
    ASSERT_EQ(::mkfifo((folder.path() / "run.h5").c_str(), 0666), 0);

    EXPECT_THAT(message_of<base::InputError>([&] { (void)read_run(folder.path() / "run.h5"); }),
                HasSubstr("it is not a plain file"));
}

TEST(RunFile, is_on_disk_before_it_has_its_name_and_its_name_before_the_write_returns) {
    TemporaryFolder const folder;
    CallLog const log(folder.path());

    write_run(folder.path() / "run.h5", samples::run());

    EXPECT_EQ(log.calls(), (std::vector<std::string>{"write run.h5.tmp", "fsync run.h5.tmp", "rename run.h5.tmp run.h5",
                                                     "fsync ."}));
}

TEST(RunFile, a_planted_link_is_not_written_through) {
    TemporaryFolder const folder;
    auto const victim = folder.path() / "victim";
    write_text(victim, "precious");
    std::filesystem::create_symlink(victim, folder.path() / "run.h5.tmp");
    std::filesystem::create_symlink(victim, folder.path() / "run.h5");

    write_run(folder.path() / "run.h5", samples::run());

    EXPECT_EQ(read_text(victim), "precious");
    EXPECT_FALSE(std::filesystem::is_symlink(folder.path() / "run.h5"));
    expect_equal(read_run(folder.path() / "run.h5"), samples::run());
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
