#include "samples.hpp"

#include "espalier/base/error.hpp"

#include <gmock/gmock.h>

namespace espalier::analysis::exports::testing {
namespace {

using store::message_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

bool is_built_in() {
    TemporaryFolder folder;
    auto source = make_run(folder.path() / "run", duo());
    auto const message = message_of<base::InputError>([&] { write(source, {}, "otf2", folder.path() / "out"); });
    return message.find("without OTF2") == std::string::npos;
}

class Otf2 : public ::testing::Test {
protected:
    void SetUp() override {
        if (!is_built_in()) GTEST_SKIP() << "built without OTF2: install libotf2-trace-dev";
    }
    Written exported(Window const& window = {}) {
        auto source = make_run(folder_.path() / "run", duo());
        return write(source, window, "otf2", archive());
    }
    [[nodiscard]] std::filesystem::path archive() const { return folder_.path() / "archive"; }
    TemporaryFolder folder_;
};

class Otf2Print : public Otf2 {
protected:
    void SetUp() override {
        Otf2::SetUp();
        if (!has_tool("otf2-print")) GTEST_SKIP() << "otf2-print is missing: install otf2-tools";
    }
    std::vector<std::string> printed(Written const& written, std::string const& options) {
        auto const ran = run_tool("otf2-print " + options + " '" + written.open.string() + "'");
        EXPECT_EQ(ran.status, 0) << ran.output;
        return split(ran.output, '\n');
    }
    static auto count(std::vector<std::string> const& lines, std::string const& start) {
        return std::ranges::count_if(lines, [&](auto const& line) { return line.starts_with(start + " "); });
    }
    /// The lines that begin so, without runs of blanks.
    static std::vector<std::string> rows(std::vector<std::string> const& lines, std::string const& start) {
        std::vector<std::string> found;
        for (auto const& line : lines) {
            if (!line.starts_with(start + " ")) continue;
            auto& row = found.emplace_back();
            for (auto const c : line)
                if (c != ' ' || row.back() != ' ') row += c;
        }
        return found;
    }
};

TEST_F(Otf2Print, finds_nothing_wrong) {
    auto const written = exported();

    EXPECT_EQ(written.open.filename(), "traces.otf2");
    EXPECT_EQ(written.events, 18u);
    auto const ran = run_tool("otf2-print --silent -Werror '" + written.open.string() + "'");
    EXPECT_EQ(ran.status, 0) << ran.output;
}

TEST_F(Otf2Print, sees_every_span_and_every_message) {
    auto const lines = printed(exported(), "");

    EXPECT_EQ(count(lines, "ENTER"), 18);
    EXPECT_EQ(count(lines, "LEAVE"), 18);
    EXPECT_THAT(
        rows(lines, "MPI_SEND"),
        ElementsAre(HasSubstr(" 0 1000 Receiver: 1 (\"communication\" <3>), Communicator: \"MPI_COMM_WORLD\" <0>, "
                              "Tag: 1, Length: 64"),
                    HasSubstr(" 3 3000 Receiver: 0 (\"communication\" <0>)")));
    EXPECT_THAT(
        rows(lines, "MPI_RECV"),
        ElementsAre(HasSubstr(" 3 2100 Sender: 0 (\"communication\" <0>), Communicator: \"MPI_COMM_WORLD\" <0>, "
                              "Tag: 1, Length: 64"),
                    HasSubstr(" 0 5100 Sender: 1 (\"communication\" <3>)")));
}

TEST_F(Otf2Print, sees_a_thread_in_order) {
    auto const lines = printed(exported(), "-L 1");

    std::vector<std::string> steps;
    for (auto const& line : lines)
        if (line.starts_with("ENTER") || line.starts_with("LEAVE"))
            steps.push_back(rows({line}, line.substr(0, 5)).at(0));
    EXPECT_THAT(steps, ElementsAre("ENTER 1 0 Region: \"expand\" <0>", "ENTER 1 2000 Region: \"query\" <1>",
                                   "LEAVE 1 5000 Region: \"query\" <1>", "ENTER 1 6000 Region: \"query\" <1>",
                                   "LEAVE 1 7000 Region: \"query\" <1>", "LEAVE 1 10000 Region: \"expand\" <0>",
                                   "ENTER 1 10000 Region: \"wait\" <3>", "LEAVE 1 15000 Region: \"wait\" <3>"));
}

TEST_F(Otf2Print, sees_hosts_ranks_threads_and_the_clock) {
    auto const lines = printed(exported(), "-G");

    EXPECT_THAT(rows(lines, "CLOCK_PROPERTIES"),
                ElementsAre(HasSubstr("Ticks per Seconds: 1000000000, Global Offset: 0, Length: 24000")));
    EXPECT_THAT(rows(lines, "SYSTEM_TREE_NODE"),
                ElementsAre(HasSubstr("cluster"), HasSubstr("\"alpha\""), HasSubstr("\"beta\"")));
    EXPECT_THAT(rows(lines, "LOCATION_GROUP"), ElementsAre(HasSubstr("rank 0 (alpha)"), HasSubstr("rank 1 (beta)")));
    EXPECT_THAT(rows(lines, "LOCATION"),
                ElementsAre(HasSubstr("communication"), HasSubstr("worker 1"), HasSubstr("worker 2"),
                            HasSubstr("communication"), HasSubstr("worker 1"), HasSubstr("worker 2")));
    EXPECT_THAT(rows(lines, "LOCATION").at(1), HasSubstr("# Events: 8, Group: \"rank 0 (alpha)\""));
}

TEST_F(Otf2Print, sees_any_trace_whole) {
    std::mt19937_64 random(7);
    std::vector<Rank> ranks;
    for (int rank = 0; rank < 3; ++rank) ranks.push_back({"host", 0, any_events(random, 5000, 2, 3)});
    auto source = make_run(folder_.path() / "run", ranks);

    auto const written = write(source, {}, "otf2", archive());
    auto const lines = printed(written, "-Werror");

    EXPECT_EQ(count(lines, "ENTER"), 15000);
    EXPECT_EQ(count(lines, "LEAVE"), 15000);
    EXPECT_EQ(count(lines, "MPI_SEND"), static_cast<std::ptrdiff_t>(written.messages.value()));
    EXPECT_EQ(count(lines, "MPI_RECV"), static_cast<std::ptrdiff_t>(written.messages.value()));
    EXPECT_GT(written.messages, 0u);
}

TEST_F(Otf2Print, sees_a_trace_with_a_lost_shard) {
    auto ranks = duo();
    ranks.insert(ranks.begin() + 1, {"lost", 0, {{.start_ns = 1, .duration_ns = 1}}});
    for (auto& event : ranks[0].events)
        if (event.peer == 1) event.peer = 2;
    auto source = make_run(folder_.path() / "run", ranks);
    std::filesystem::remove(source.shards.at(1).file);
    source = open_trace(folder_.path() / "run");

    auto const lines = printed(write(source, {}, "otf2", archive()), "-Werror");

    EXPECT_EQ(count(lines, "ENTER"), 18);
    EXPECT_EQ(count(lines, "MPI_SEND"), 2);
    EXPECT_EQ(count(lines, "MPI_RECV"), 2);
}

TEST_F(Otf2, replaces_an_archive_and_an_empty_folder) {
    std::filesystem::create_directory(archive());
    exported();
    auto const first = store::read_text(archive() / "traces/1.evt");

    exported({0, 1});

    EXPECT_NE(store::read_text(archive() / "traces/1.evt"), first);
    std::vector<std::string> left;
    for (auto const& entry : std::filesystem::directory_iterator(folder_.path()))
        left.push_back(entry.path().filename());
    EXPECT_THAT(left, ::testing::UnorderedElementsAre("run", "archive"));
}

TEST_F(Otf2, refuses_to_replace_anything_else) {
    store::write_text(archive() / "thesis.tex", "years of work");

    auto const message = message_of<base::InputError>([&] { exported(); });

    EXPECT_THAT(message, HasSubstr(archive().string()));
    EXPECT_THAT(message, HasSubstr("thesis.tex"));
    EXPECT_EQ(store::read_text(archive() / "thesis.tex"), "years of work");
}

TEST_F(Otf2, refuses_a_folder_whose_archive_has_company) {
    exported();
    store::write_text(archive() / "notes.txt", "mine");

    EXPECT_THAT(message_of<base::InputError>([&] { exported(); }), HasSubstr("notes.txt"));
    EXPECT_EQ(store::read_text(archive() / "notes.txt"), "mine");
}

TEST_F(Otf2, refuses_a_file) {
    store::write_text(archive(), "a file");

    EXPECT_THAT(message_of<base::InputError>([&] { exported(); }), HasSubstr("it is not a folder"));
    EXPECT_EQ(store::read_text(archive()), "a file");
}

} // namespace
} // namespace espalier::analysis::exports::testing
