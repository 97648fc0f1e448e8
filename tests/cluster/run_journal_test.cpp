#include "espalier/cluster/run_journal.hpp"

#include "espalier/base/log.hpp"
#include "espalier/store/shards.hpp"
#include "store/places.hpp"
#include "support/engine.hpp"
#include "support/in_process.hpp"
#include "support/toys.hpp"

#include <gtest/gtest.h>

namespace espalier::cluster {
namespace {

store::RunRecord record_of(store::Identity const& identity) {
    return {.identity = identity, .problem_kind = "test", .info = {.kind = "test"}, .executions = {{.segment = 1}}};
}

class JournalTest : public testing::Test {
protected:
    [[nodiscard]] RunJournal opened() const {
        return {store::RunFolder({folder_.path()}, identity_), record_of(identity_)};
    }
    [[nodiscard]] store::RunRecord stored() const { return store::read_run(folder_.path() / "run.h5"); }

    store::TemporaryFolder folder_;
    store::Identity identity_{.problem = "p", .seed = 1};
};

TEST_F(JournalTest, the_last_record_of_progress_is_the_newest_and_the_others_are_few) {
    auto journal = opened();

    for (int i = 1; i <= 4000; ++i)
        journal.add_progress({.elapsed_s = 0.25 * i, .nodes = static_cast<std::uint64_t>(i)});

    auto const& progress = journal.record().progress;
    EXPECT_EQ(progress.back().nodes, 4000u);
    EXPECT_LT(progress.size(), 100u);
    for (std::size_t i = 1; i + 1 < progress.size(); ++i)
        EXPECT_GE(progress[i].elapsed_s, 1.1 * progress[i - 1].elapsed_s) << i;
}

TEST_F(JournalTest, a_resume_keeps_the_progress_up_to_the_checkpoint) {
    {
        auto journal = opened();
        journal.add_progress({.elapsed_s = 1, .nodes = 10});
        journal.add_progress({.elapsed_s = 1.05, .nodes = 20});
        journal.save({.counts = {.nodes = 20}});
        journal.add_progress({.elapsed_s = 1.08, .nodes = 25}); // takes the last one's place
        journal.write_record();
    }
    ASSERT_EQ(stored().progress.back().nodes, 25u);

    auto journal = opened();
    journal.add_progress({.elapsed_s = 0.5, .nodes = 22});

    auto const& progress = journal.record().progress;
    ASSERT_EQ(progress.size(), 3u); // the checkpoint holds its own records, without what came after it
    EXPECT_EQ(progress[0].nodes, 10u);
    EXPECT_EQ(progress[1].nodes, 20u);
    EXPECT_EQ(progress[2].execution, 2);
}

} // namespace
} // namespace espalier::cluster

using namespace espalier;
using namespace espalier::cluster;
using namespace espalier::toys;

namespace {

struct RunJournalTest : testing::Test {
    RunJournalTest() { base::log::configure({.level = base::log::Level::quiet}); }

    [[nodiscard]] std::unique_ptr<RunJournal> next_execution() { return make_journal(*problem, folder.path); }
    [[nodiscard]] RunState state(std::uint64_t nodes, double cpu_seconds) const {
        RunState state{.counts = search::zero_counts(problem->info()), .cpu_seconds = cpu_seconds};
        state.counts.nodes = nodes;
        state.open.push_back({.bytes = {std::byte{7}}, .depth = 3});
        return state;
    }
    std::unique_ptr<search::AnyProblem> problem = search::erase(Queens{4});
    TemporaryFolder folder;
};

} // namespace

TEST_F(RunJournalTest, a_new_run_has_nothing_to_resume) {
    auto const journal = next_execution();

    EXPECT_EQ(journal->resumed(), nullptr);
    EXPECT_FALSE(journal->take_resumed());
    EXPECT_EQ(journal->earlier_cpu_seconds(), 0);
}

/// A kill leaves no more than the last checkpoint; what that had cost is kept, execution after execution.
TEST_F(RunJournalTest, the_cost_of_earlier_executions_is_kept_also_of_killed_ones) {
    next_execution()->save(state(100, 5));
    {
        auto const second = next_execution();
        EXPECT_EQ(second->earlier_cpu_seconds(), 5);
        EXPECT_EQ(second->resumed()->counts.nodes, 100u);
        second->save(state(160, 2));
        second->save(state(170, 3)); // of this execution, not since the last checkpoint
    }
    auto const third = next_execution();

    EXPECT_EQ(third->earlier_cpu_seconds(), 8);
    EXPECT_GT(third->earlier_seconds(), 0);
    EXPECT_EQ(third->resumed()->counts.nodes, 170u);
    ASSERT_EQ(third->record().executions.size(), 3u);
    EXPECT_EQ(third->record().executions[0].cpu_seconds, 5);
    EXPECT_EQ(third->record().executions[1].cpu_seconds, 3);
}

/// The last checkpoint of an execution that ends well is older than its end.
TEST_F(RunJournalTest, what_an_execution_cost_after_its_last_checkpoint_is_not_taken_from_the_next_one) {
    {
        auto const first = next_execution();
        first->save(state(100, 5));
        first->execution().stop_reason = "signal";
        first->execution().cpu_seconds = 6;
        first->execution().seconds = 1000;
        first->write_record();
    }
    next_execution()->save(state(110, 0.5)); // and is killed
    auto const third = next_execution();

    EXPECT_EQ(third->record().executions[0].cpu_seconds, 6);
    EXPECT_EQ(third->record().executions[1].cpu_seconds, 0.5);
    EXPECT_GT(third->record().executions[1].seconds, 0);
    EXPECT_EQ(third->earlier_cpu_seconds(), 6.5);
    EXPECT_GT(third->earlier_seconds(), 1000);
}

TEST_F(RunJournalTest, what_is_resumed_is_what_the_checkpoint_says_and_is_taken_once) {
    {
        auto const first = next_execution();
        auto saved = state(100, 5);
        saved.incumbent = 2.5;
        saved.results.resize(2);
        saved.results[0].key = 1;
        saved.results[1].key = 2;
        first->save(saved);
        saved.results.resize(3); // after the checkpoint: found again
        saved.results[2].key = 3;
        saved.counts.nodes = 999;
        first->record().results = saved.results;
        first->record().counts = saved.counts;
        first->write_record();
    }
    auto const journal = next_execution();

    auto const resumed = journal->take_resumed();

    ASSERT_TRUE(resumed);
    EXPECT_EQ(resumed->counts.nodes, 100u);
    EXPECT_EQ(resumed->results.size(), 2u);
    EXPECT_EQ(resumed->incumbent, 2.5);
    EXPECT_EQ(resumed->open, state(0, 0).open);
    EXPECT_EQ(journal->resumed(), nullptr);
}

TEST_F(RunJournalTest, a_checkpoint_of_another_run_is_refused) {
    next_execution()->save(state(1, 1));
    store::RunRecord record{.identity = {.problem = problem->info().kind, .seed = 99},
                            .problem_kind = problem->info().kind,
                            .info = problem->info()};
    record.executions.resize(1);

    EXPECT_THROW(RunJournal(store::RunFolder({folder.path, false}, record.identity), record), base::InputError);
}

TEST_F(RunJournalTest, notes_reach_the_file_with_new_results_after_two_seconds_at_the_earliest) {
    auto const journal = next_execution(); // writes the record
    auto noted = state(50, 1);
    noted.results.resize(1);

    journal->note(noted);

    EXPECT_TRUE(store::read_run(journal->folder().run_file()).results.empty());
}

TEST_F(RunJournalTest, checkpoints_are_numbered_over_all_executions) {
    auto const number = [&] { return store::read_checkpoint(folder.path)->checkpoint.number; };
    {
        auto const first = next_execution();
        first->save(state(1, 1));
        EXPECT_EQ(number(), 1u);
        first->save(state(2, 1));
        EXPECT_EQ(number(), 2u);
    }
    next_execution()->save(state(3, 1));

    EXPECT_EQ(number(), 3u);
}

TEST_F(RunJournalTest, results_that_are_better_take_the_place_of_as_many_others) {
    auto const journal = next_execution();
    auto saved = state(1, 1);
    saved.results = {{.key = 1}, {.key = 2}};
    journal->save(saved);
    saved.results = {{.key = 2}, {.key = 3}};

    journal->save(saved);

    EXPECT_EQ(keys(journal->record().results), (std::vector<std::uint64_t>{2, 3}));
    EXPECT_EQ(keys(store::read_run(journal->folder().run_file()).results), (std::vector<std::uint64_t>{2, 3}));
}

TEST_F(RunJournalTest, a_checkpoint_that_another_run_left_in_the_folder_is_refused) {
    auto const other = folder.path.string() + "-other";
    next_execution()->save(state(1, 1));
    {
        store::RunRecord record{.identity = {.problem = problem->info().kind, .seed = 99},
                                .problem_kind = problem->info().kind,
                                .info = problem->info()};
        record.executions.resize(1);
        RunJournal(store::RunFolder({other, false}, record.identity), record).save(state(1, 1));
    }
    std::filesystem::copy_file(other + "/checkpoint.h5", folder.path / "checkpoint.h5",
                               std::filesystem::copy_options::overwrite_existing);
    std::filesystem::remove_all(other);

    EXPECT_THROW((void)next_execution(), base::InputError);
}

TEST_F(RunJournalTest, a_resume_knows_counts_stage_and_run_time) {
    {
        auto const first = next_execution();
        auto saved = state(100, 5);
        saved.stage = 1;
        first->save(saved);
        EXPECT_EQ(store::read_run(first->folder().run_file()).stage, 1);
        first->execution().stop_reason = "signal";
        first->execution().seconds = 1000;
        first->write_record();
    }
    auto const journal = next_execution();

    EXPECT_EQ(journal->record().counts.nodes, 100u);
    EXPECT_EQ(journal->record().stage, 1);
    EXPECT_EQ(journal->resumed()->stage, 1);
    EXPECT_EQ(journal->resumed()->earlier_seconds, 1000);
}

/// Shards of all executions of a stage, and of no other stage.
TEST_F(RunJournalTest, emitted_records_are_those_of_the_stage_from_all_executions) {
    auto const emit = [&](RunJournal const& journal, std::uint64_t key) {
        std::vector<search::EmitRecord> const records{{key, {}}, {key + 1, {}}};
        (void)store::EmitShard(folder.path / store::emit_shard_name(journal.folder().segment(), 0)).append(records);
    };
    RunState saved = state(100, 5);
    saved.stage = 1;
    saved.emit_marks = {{.rank = 0, .records = 2}};
    {
        auto const first = next_execution();
        emit(*first, 10);
        first->save(saved);
    }
    auto const second = next_execution();
    emit(*second, 20);

    auto const of_stage = second->emitted(saved.emit_marks);
    saved.stage = 2;
    second->note(saved);
    auto const of_next = second->emitted(saved.emit_marks);

    ASSERT_EQ(of_stage.size(), 4u);
    EXPECT_EQ(of_stage[1].key, 11u);
    EXPECT_EQ(of_stage[3].key, 21u);
    ASSERT_EQ(of_next.size(), 2u);
    EXPECT_EQ(of_next[0].key, 20u);
}

/// What was written before a mark begins belongs to work that somebody else did again, also after a resume.
TEST_F(RunJournalTest, emitted_records_are_those_between_the_beginning_and_the_end_of_their_mark) {
    std::vector<search::EmitMark> const marks{{.rank = 0, .records = 3, .first = 1}};
    auto saved = state(100, 5);
    saved.emit_marks = marks;
    {
        auto const first = next_execution();
        std::vector<search::EmitRecord> const records{{10, {}}, {11, {}}, {12, {}}, {13, {}}};
        (void)store::EmitShard(folder.path / store::emit_shard_name(first->folder().segment(), 0)).append(records);
        EXPECT_EQ(first->emitted(marks), (std::vector<search::EmitRecord>{{11, {}}, {12, {}}}));
        first->save(saved);
    }

    auto const second = next_execution();

    EXPECT_EQ(second->emitted({}), (std::vector<search::EmitRecord>{{11, {}}, {12, {}}}));
}

TEST_F(RunJournalTest, the_first_note_is_written_at_once) {
    store::RunRecord record{
        .identity = {.problem = problem->info().kind}, .problem_kind = problem->info().kind, .info = problem->info()};
    record.executions.resize(1);
    RunJournal journal(store::RunFolder({folder.path, false}, record.identity), record);
    auto noted = state(50, 1);
    noted.stage = 1;
    noted.results.resize(1);

    journal.note(noted);

    auto const stored = store::read_run(folder.path / "run.h5");
    EXPECT_EQ(stored.counts.nodes, 50u);
    EXPECT_EQ(stored.results.size(), 1u);
    EXPECT_EQ(stored.stage, 1);
}
