#include "samples.hpp"

#include "espalier/base/error.hpp"

#include <gmock/gmock.h>

#include <sys/stat.h>
#include <thread>

namespace espalier::analysis::exports::testing {
namespace {

using store::message_of;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;
using ::testing::UnorderedElementsAreArray;

std::vector<std::string> names_in(std::filesystem::path const& folder) {
    std::vector<std::string> names;
    for (auto const& entry : std::filesystem::directory_iterator(folder)) names.push_back(entry.path().filename());
    return names;
}

class Write : public ::testing::TestWithParam<std::string_view> {
protected:
    [[nodiscard]] std::string format() const { return std::string(GetParam()); }
    /// False where OTF2 is not built in.
    bool can_write(TraceSource& source) {
        return message_of<base::InputError>([&] { write(source, {}, format(), folder_.path() / "probe"); }).empty();
    }
    TemporaryFolder folder_;
};
INSTANTIATE_TEST_SUITE_P(Formats, Write, ::testing::ValuesIn(formats),
                         [](auto const& tested) { return std::string(tested.param); });

TEST_P(Write, leaves_only_the_finished_files) {
    auto source = make_run(folder_.path() / "run", duo());
    if (!can_write(source)) GTEST_SKIP() << "built without it";
    auto const out = folder_.path() / "out";
    std::filesystem::create_directory(out);

    auto const written = write(source, {}, format(), out / "trace.x");

    EXPECT_TRUE(std::filesystem::is_regular_file(written.open));
    if (format() == "csv")
        EXPECT_THAT(names_in(out), UnorderedElementsAre("trace.x", "trace.pipit.csv"));
    else
        EXPECT_THAT(names_in(out), UnorderedElementsAre("trace.x"));
}

TEST_P(Write, a_missing_folder_is_named) {
    auto source = make_run(folder_.path() / "run", duo());
    if (!can_write(source)) GTEST_SKIP() << "built without it";
    auto const file = folder_.path() / "missing" / "trace.x";

    auto const message = message_of<base::SystemError>([&] { write(source, {}, format(), file); });

    EXPECT_THAT(message, HasSubstr(file.string()));
    EXPECT_THAT(message, HasSubstr("No such file or directory"));
}

TEST_P(Write, a_full_disk_is_said_and_nothing_half_is_left) {
    std::mt19937_64 random(1);
    std::vector<Rank> ranks;
    for (int rank = 0; rank < 2; ++rank) ranks.push_back({"host", 0, any_events(random, 60'000, 2, 2)});
    auto source = make_run(folder_.path() / "run", ranks);
    if (!can_write(source)) GTEST_SKIP() << "built without it";
    store::SmallDisk disk("256k");
    if (!disk.is_mounted()) GTEST_SKIP() << "only root may mount a small disk";
    auto const is_small = format() == "folded";
    if (is_small) store::write_text(disk.path() / "filler", std::string(1u << 20, 'x'));
    auto const file = disk.path() / "trace.x";

    auto const message = message_of<base::SystemError>([&] { write(source, {}, format(), file); });

    EXPECT_THAT(message, HasSubstr((disk.path() / "trace").string()));
    EXPECT_THAT(names_in(disk.path()), UnorderedElementsAreArray(std::vector<std::string>(is_small, "filler")));
}

TEST_P(Write, a_run_without_events_in_the_window_is_written_too) {
    auto source = make_run(folder_.path() / "run", duo());
    if (!can_write(source)) GTEST_SKIP() << "built without it";

    auto const written = write(source, {1'000'000'000, 2'000'000'000}, format(), folder_.path() / "trace.x");

    EXPECT_EQ(written.events, 0u);
    EXPECT_TRUE(std::filesystem::is_regular_file(written.open));
}

TEST(WriteFile, a_failed_export_leaves_the_old_file) {
    TemporaryFolder folder;
    std::mt19937_64 random(1);
    auto source = make_run(folder.path() / "run", {{"host", 0, any_events(random, 60'000, 2, 2)}});
    store::SmallDisk disk("256k");
    if (!disk.is_mounted()) GTEST_SKIP() << "only root may mount a small disk";
    store::write_text(disk.path() / "trace.json", "the old one");

    EXPECT_THROW(write(source, {}, "chrome", disk.path() / "trace.json"), base::SystemError);

    EXPECT_EQ(store::read_text(disk.path() / "trace.json"), "the old one");
}

TEST(WriteFile, an_old_file_is_replaced_through_a_link) {
    TemporaryFolder folder;
    auto source = make_run(folder.path() / "run", duo());
    store::write_text(folder.path() / "real.folded", "the old one");
    std::filesystem::create_symlink("real.folded", folder.path() / "link.folded");

    write(source, {}, "folded", folder.path() / "link.folded");

    EXPECT_TRUE(std::filesystem::is_symlink(folder.path() / "link.folded"));
    EXPECT_THAT(store::read_text(folder.path() / "real.folded"), HasSubstr("rank 0;worker 1;expand"));
}

TEST(WriteFile, a_folder_is_refused) {
    TemporaryFolder folder;
    auto source = make_run(folder.path() / "run", duo());

    EXPECT_THAT(message_of<base::SystemError>([&] { write(source, {}, "chrome", folder.path()); }),
                HasSubstr("it is a folder"));
}

TEST(WriteFile, a_pipe_gets_the_rows_and_stays_a_pipe) {
    TemporaryFolder folder;
    auto source = make_run(folder.path() / "run", duo());
    auto const pipe = folder.path() / "pipe.csv";
    ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
    std::string text;
    std::thread reader([&] { text = store::read_text(pipe); });

    auto const written = write(source, {}, "csv", pipe);
    reader.join();

    EXPECT_EQ(split(text, '\n').size(), 19u);
    EXPECT_EQ(written.also, "");
    EXPECT_TRUE(std::filesystem::is_fifo(pipe));
    EXPECT_THAT(names_in(folder.path()), UnorderedElementsAre("run", "pipe.csv"));
}

TEST(WriteFile, an_unknown_format_names_the_known_ones) {
    TemporaryFolder folder;
    auto source = make_run(folder.path() / "run", duo());

    auto const message = message_of<base::InputError>([&] { write(source, {}, "crome", folder.path() / "x"); });

    EXPECT_THAT(message, HasSubstr("did you mean 'chrome'?"));
    EXPECT_THAT(message, HasSubstr("perfetto, chrome, otf2, csv, folded"));
}

TEST(WriteFile, what_is_wrong_with_a_shard_is_remarked_once) {
    TemporaryFolder folder;
    std::mt19937_64 random(1);
    std::vector<Rank> const ranks{{"host", 0, any_events(random, 60'000, 2, 2)}, {"host", 0, {{.duration_ns = 1}}}};
    auto source = make_run(folder.path() / "run", ranks);
    auto const shard = source.shards.at(0).file;
    std::fstream damaged(shard, std::ios::in | std::ios::out | std::ios::binary);
    damaged.seekp(static_cast<std::streamoff>(std::filesystem::file_size(shard) / 2));
    damaged << std::string(20'000, '\xff');
    damaged.close();

    auto const written = write(source, {}, "perfetto", folder.path() / "x"); // reads the shards twice

    EXPECT_LT(written.events, 60'001u);
    ASSERT_EQ(source.remarks.size(), 1u);
    EXPECT_THAT(source.remarks[0], HasSubstr("events can be read"));
}

} // namespace
} // namespace espalier::analysis::exports::testing
