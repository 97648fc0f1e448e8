#include "shard_disk.hpp"

#include "h5_errors.hpp"
#include "shard_file.hpp"
#include "shard_image.hpp"
#include "store/faults.hpp"
#include "store/places.hpp"
#include "store/samples.hpp"
#include "trace_table.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

/// The bytes of a shard below HDF5: pages, their checksums, the log, and how much of them a reader believes.
namespace espalier::store {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

Page page_of(char letter) { return Page(page_bytes, static_cast<std::byte>(letter)); }

std::string text_of(base::Bytes const& bytes) { return {reinterpret_cast<char const*>(bytes.data()), bytes.size()}; }

/// What a reader knows about a shard with this log; the end of its data.
std::uint64_t end_by_log(std::string const& log) {
    TemporaryFolder const folder;
    auto const file = folder.path() / "shard.h5";
    write_text(file, "");
    write_text(log_name(file), log);
    return known_pages(open_plain(file), file).sums.end;
}

TEST(PageSums, of_the_same_bytes_elsewhere_differ) {
    EXPECT_NE(page_sum(1, page_of('a')), page_sum(2, page_of('a')));
    EXPECT_NE(page_sum(1, page_of('a')), page_sum(1, page_of('b')));
}

TEST(PageSums, a_log_counts_up_to_the_first_record_that_is_damaged_missing_or_cut_off) {
    std::vector<std::string> records;
    for (std::uint64_t i = 0; i < 3; ++i) records.push_back(text_of(pages_record({{i, page_of('a')}}, 100 + i, i)));
    auto flipped = records[1];
    flipped.back() = 'b';

    EXPECT_EQ(end_by_log(records[0] + records[1] + records[2]), 102u);
    EXPECT_EQ(end_by_log(records[0] + flipped + records[2]), 100u);
    EXPECT_EQ(end_by_log(records[0] + records[2]), 100u);
    for (std::size_t cut = 1; cut < 30; ++cut)
        EXPECT_EQ(end_by_log(records[0] + records[1].substr(0, records[1].size() - cut)), 100u);
    EXPECT_THROW((void)end_by_log(records[1]), base::InputError);
}

TEST(PageSums, a_trailer_is_believed_only_as_a_whole) {
    TemporaryFolder const folder;
    auto const file = folder.path() / "shard.h5";
    PageSums sums;
    sums.set({{0, page_of('a')}}, 100);
    auto const data = std::string(100, 'a');
    auto const end = text_of(trailer(sums));
    auto const refusal = [&](std::string const& text) {
        write_text(file, text);
        return message_of<base::InputError>(
            [&] { EXPECT_EQ(known_pages(open_plain(file), file).sums.sums, sums.sums); });
    };

    EXPECT_EQ(refusal(data + end), "");
    for (std::size_t i = 0; i < end.size(); ++i) {
        auto flipped = end;
        flipped[i] = static_cast<char>(flipped[i] ^ 1);
        EXPECT_THAT(refusal(data + flipped), HasSubstr("checksums are missing or wrong")) << i;
    }
    auto longer = end; // a byte more of data, and a trailer that says so
    ++longer[sizeof(std::uint64_t)];
    EXPECT_THAT(refusal(data + "a" + longer), HasSubstr("checksums are missing or wrong"));
}

TEST(ShardDisk, reads_what_was_written_before_and_after_a_commit) {
    TemporaryFolder const folder;
    ShardDisk disk(folder.path() / "shard.h5", ShardDisk::Existing::replace);
    auto const read = [&](std::uint64_t at, std::size_t size) {
        base::Bytes bytes(size);
        EXPECT_TRUE(disk.read(at, bytes));
        return text_of(bytes);
    };
    disk.write(page_bytes - 2, samples::bytes("abcd")); // over a border
    EXPECT_EQ(read(page_bytes - 3, 6), std::string("\0abcd\0", 6));
    disk.commit();
    EXPECT_EQ(read(page_bytes - 3, 6), std::string("\0abcd\0", 6));

    disk.write(page_bytes, samples::bytes("X")); // the rest of its page is on disk
    EXPECT_EQ(read(page_bytes - 2, 4), "abXd");
    disk.commit();

    EXPECT_EQ(read(page_bytes - 2, 4), "abXd");
}

TEST(ShardDisk, a_batch_logs_only_its_own_pages) {
    TemporaryFolder const folder;
    auto const file = folder.path() / "shard.h5";
    ShardDisk disk(file, ShardDisk::Existing::replace);
    disk.write(0, page_of('a'));
    disk.commit();
    auto const before = fs::file_size(log_name(file));

    disk.write(page_bytes, page_of('b'));
    disk.commit();

    EXPECT_EQ(fs::file_size(log_name(file)), 2 * before);
}

TEST(ShardImage, a_damaged_page_stays_damaged_however_often_it_is_read) {
    TemporaryFolder const folder;
    auto const file = folder.path() / "shard.h5";
    {
        ShardDisk disk(file, ShardDisk::Existing::replace);
        disk.write(0, page_of('a'));
        disk.write(page_bytes, page_of('b'));
    }
    auto text = read_text(file);
    text[page_bytes + 5] = 'x';
    write_text(file, text);
    ShardImage const image(file);
    base::Bytes byte(1);

    EXPECT_TRUE(image.read(7, byte));
    EXPECT_FALSE(image.read(page_bytes, byte));
    EXPECT_FALSE(image.read(page_bytes, byte));
    EXPECT_THAT(image.damage(), HasSubstr("bytes 4096 to 8191"));
}

TEST(ShardImage, has_changed_when_its_log_has) {
    TemporaryFolder const folder;
    auto const file = folder.path() / "shard.h5";
    write_text(file, "a");
    write_text(log_name(file), text_of(pages_record({{0, page_of('a')}}, 1, 0)));
    ShardImage const image(file);
    EXPECT_FALSE(image.has_changed());

    write_text(log_name(file), "more than that");

    EXPECT_TRUE(image.has_changed());
}

/// A shard as a writer of another mind could leave it: `rows` events, and a tail that begins at `first`.
void write_with_tail(fs::path const& file, std::uint64_t rows, std::uint64_t first, std::uint64_t count) {
    ShardFile shard(file, ShardDisk::Existing::replace);
    shard.change(1 << 20, [&] {
        auto const type = event_type();
        auto const all = samples::events(20);
        auto const info = samples::shard_info();
        h5::set_schema(shard.id(), trace_format);
        for (auto const* name : {"rank", "segment"}) h5::set<std::int32_t>(shard.id(), name, 1);
        for (auto const* name : {"clock_offset_ns", "wall_minus_steady_ns", "start_ns"})
            h5::set<std::int64_t>(shard.id(), name, 0);
        h5::set<std::int32_t>(shard.id(), "threads", info.threads);
        h5::set_text(shard.id(), "host", info.host);
        auto const events = h5::make_dataset(shard.id(), "events", packed(type), {.chunk_rows = trace_chunk_rows});
        h5::append(events, type, all.data(), rows);
        auto const tail = h5::make_fixed_dataset(shard.id(), "tail", packed(type), trace_chunk_rows);
        h5::write_rows(tail, type, all.data() + first, {.count = count});
        h5::set<std::uint64_t>(tail, "first_row", first);
        h5::set<std::uint64_t>(tail, "rows", count);
    });
}

TEST(TraceShard, rows_of_a_tail_that_are_in_place_too_count_once_and_none_counts_behind_a_gap) {
    TemporaryFolder const folder;
    auto const file = folder.path() / "shard.h5";
    auto const expect_rows = [&](std::uint64_t expected) {
        auto const events = read_trace_shard(file).events;
        ASSERT_EQ(events.size(), expected);
        for (std::uint32_t i = 0; i < expected; ++i) EXPECT_EQ(events[i].id, samples::event(i).id);
    };

    write_with_tail(file, 3, /*first=*/3, 4);
    expect_rows(7);
    write_with_tail(file, 3, 1, 4);
    expect_rows(5);
    write_with_tail(file, 6, 1, 4);
    expect_rows(6);
    write_with_tail(file, 3, 5, 4);
    expect_rows(3);
}

TEST(TraceShard, a_closed_one_has_no_tail) {
    TemporaryFolder const folder;
    TraceShard(folder.path() / "shard.h5", samples::shard_info()).append(samples::events(5));

    EXPECT_FALSE(h5::has(open_shard(folder.path() / "shard.h5").file, "tail"));
}

/// Everything but the write to the log fails: the batch is still there, also after the log was replaced.
TEST(TraceShard, a_batch_that_only_the_log_has_is_read) {
    for (std::size_t const batches : {1, 150}) {
        TemporaryFolder const folder;
        auto const file = folder.path() / "shard.h5";
        auto const all = samples::events(500 * 151);
        {
            TraceShard shard(file, samples::shard_info());
            for (std::size_t i = 0; i < batches; ++i) shard.append(std::span(all).subspan(500 * i, 500));
            Faults const faults({.good_writes = 1});
            EXPECT_THROW(shard.append(std::span(all).subspan(500 * batches, 500)), base::SystemError);
        }

        auto const loaded = read_trace_shard(file);

        EXPECT_EQ(loaded.events.size(), 500 * (batches + 1));
        EXPECT_EQ(loaded.warning, "");
    }
}

TEST(EmitShard, a_new_log_is_on_disk_with_all_that_the_old_one_had_before_it_takes_its_place) {
    TemporaryFolder const folder;
    EmitShard shard(folder.path() / "emit.h5");
    std::vector<search::EmitRecord> const large{{1, base::Bytes(100'000)}};
    (void)shard.append(large);
    CallLog const log(folder.path());
    auto const replaced = [&] { return std::ranges::find(log.calls(), "rename emit.h5.log.tmp emit.h5.log"); };
    for (int i = 0; i < 50 && replaced() == log.calls().end(); ++i) (void)shard.append(large);

    auto const at = replaced();
    ASSERT_NE(at, log.calls().end());
    EXPECT_EQ(std::vector(at - 3, at + 2),
              (std::vector<std::string>{"write emit.h5.log.tmp", "fsync emit.h5", "fsync emit.h5.log.tmp",
                                        "rename emit.h5.log.tmp emit.h5.log", "fsync ."}));
}

TEST(EmitShard, what_replaces_the_log_at_the_end_is_on_disk_before_the_log_goes) {
    TemporaryFolder const folder;
    CallLog const log(folder.path());

    (void)EmitShard(folder.path() / "emit.h5").append(std::vector<search::EmitRecord>{{1, samples::bytes("a")}});

    ASSERT_GE(log.calls().size(), 2u);
    EXPECT_EQ(std::vector(log.calls().end() - 2, log.calls().end()),
              (std::vector<std::string>{"write emit.h5", "fsync emit.h5"}));
}

} // namespace
} // namespace espalier::store
