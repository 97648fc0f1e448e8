#include "espalier/store/checkpoint.hpp"
#include "espalier/store/run_folder.hpp"
#include "espalier/store/shards.hpp"

#include "espalier/base/rng.hpp"

#include "page_sums.hpp"
#include "store/faults.hpp"
#include "store/places.hpp"
#include "store/samples.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

/// Random damage of every kind of file: an error that names the file, or exactly the answer of the undamaged one. A
/// crash or a hang would end the test itself.
namespace espalier::store {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

/// Flips a bit, zeroes a block, cuts, swaps two blocks, puts something at the end, or writes noise.
std::string damaged(std::string text, base::Rng& rng) {
    auto const at = [&] { return static_cast<std::size_t>(rng() % std::max<std::size_t>(text.size(), 1)); };
    auto const block = [&](std::size_t from) { return std::min<std::size_t>(1 + rng() % 600, text.size() - from); };
    auto const first = at();
    auto const second = at();
    auto const length = std::min(block(first), block(second));
    switch (rng() % 6) {
    case 0:
        text[first] = static_cast<char>(text[first] ^ static_cast<char>(1u << rng() % 8));
        break;
    case 1:
        std::fill_n(text.begin() + static_cast<std::ptrdiff_t>(first), length, '\0');
        break;
    case 2:
        text.resize(first);
        break;
    case 3:
        for (std::size_t i = 0; i < length; ++i) std::swap(text[first + i], text[second + i]);
        break;
    case 4:
        text.append(1 + rng() % 5000, static_cast<char>(rng() % 3));
        break;
    default:
        for (std::size_t i = 0; i < length; ++i) text[first + i] = static_cast<char>(rng());
    }
    return text;
}

struct Outcome {
    int refused = 0;
    int same = 0;
    int warned = 0;
};

/// Damages the file `rounds` times; `read` says what it makes of it.
template <class Read>
Outcome damage_often(fs::path const& file, int rounds, Read&& read) {
    auto const whole = read_text(file);
    base::Rng rng(base::Seed{fs::file_size(file)});
    Outcome outcome;
    for (int i = 0; i < rounds; ++i) {
        write_text(file, damaged(whole, rng));
        try {
            read(outcome);
        } catch (base::InputError const& error) {
            EXPECT_THAT(error.what(), HasSubstr(file.parent_path().string()));
            ++outcome.refused;
        }
    }
    write_text(file, whole);
    return outcome;
}

RunRecord large_run() {
    auto run = samples::run();
    for (std::uint64_t i = 0; i < 300; ++i)
        run.results.push_back(
            {.key = i, .cost = 1.5, .text = "program " + std::to_string(i), .payload = base::Bytes(9)});
    return run;
}

void expect_run_is_safe(int rounds) {
    TemporaryFolder const folder;
    auto const file = folder.path() / "run.h5";
    write_run(file, large_run());

    auto const outcome = damage_often(file, rounds, [&](Outcome& o) {
        EXPECT_EQ(read_run(file).results, large_run().results);
        ++o.same;
    });

    EXPECT_GT(outcome.refused, rounds / 2); // swapping or writing zeros where there are zeros changes nothing
}

void expect_checkpoint_is_safe(int rounds) {
    TemporaryFolder const folder;
    write_checkpoint(folder.path(), samples::checkpoint(), large_run());

    damage_often(folder.path() / "checkpoint.h5", rounds, [&](Outcome& o) {
        EXPECT_EQ(read_checkpoint(folder.path())->checkpoint, samples::checkpoint());
        ++o.same;
    });
}

/// All events, or a warning and the first of them.
void expect_trace(fs::path const& shard, std::size_t count, Outcome& outcome) {
    auto const loaded = read_trace_shard(shard);
    EXPECT_EQ(loaded.info, samples::shard_info());
    ++(loaded.warning.empty() ? outcome.same : outcome.warned);
    EXPECT_TRUE(loaded.events.size() == count || !loaded.warning.empty()) << "fewer events and no word of it";
    for (std::uint32_t i = 0; i < loaded.events.size(); ++i)
        ASSERT_EQ(loaded.events[i].start_ns, samples::event(i).start_ns);
}

void expect_closed_shard_is_safe(int rounds) {
    TemporaryFolder const folder;
    auto const file = folder.path() / "shard.h5";
    TraceShard(file, samples::shard_info(), {"leaf", "dead"}).append(samples::events(20'000));

    auto const outcome = damage_often(file, rounds, [&](Outcome& o) { expect_trace(file, 20'000, o); });

    EXPECT_GT(outcome.refused + outcome.warned, rounds / 3);
}

/// With its log, as a killed writer leaves it.
void expect_open_shard_is_safe(int rounds, char const* damaged_one) {
    TemporaryFolder const folder;
    auto const file = folder.path() / "shard.h5";
    auto const copies = folder.path() / "copy";
    {
        TraceShard shard(file, samples::shard_info());
        for (int i = 0; i < 7; ++i) {
            auto const all = samples::events(7000);
            shard.append(std::span(all).subspan(static_cast<std::size_t>(i) * 1000, 1000));
        }
        fs::create_directories(copies);
        fs::copy(file, copies / "shard.h5");
        fs::copy(log_name(file), copies / "shard.h5.log");
    }

    damage_often(copies / damaged_one, rounds, [&](Outcome& o) { expect_trace(copies / "shard.h5", 7000, o); });
}

void expect_emits_are_safe(int rounds) {
    TemporaryFolder const folder;
    auto const file = folder.path() / "emit.h5";
    std::vector<search::EmitRecord> records;
    for (std::uint64_t i = 0; i < 500; ++i) records.push_back({i, samples::bytes("record " + std::to_string(i))});
    EmitShard(file).append(records);

    damage_often(file, rounds, [&](Outcome& o) {
        EXPECT_EQ(read_emit_shard(file, records.size()), records);
        ++o.same;
    });
}

TEST(Damage, of_run_files_is_never_silent) { expect_run_is_safe(300); }
TEST(Damage, of_checkpoints_is_never_silent) { expect_checkpoint_is_safe(300); }
TEST(Damage, of_closed_trace_shards_is_never_silent) { expect_closed_shard_is_safe(300); }
TEST(Damage, of_trace_shards_of_killed_writers_is_never_silent) { expect_open_shard_is_safe(300, "shard.h5"); }
TEST(Damage, of_logs_of_killed_writers_is_never_silent) { expect_open_shard_is_safe(300, "shard.h5.log"); }
TEST(Damage, of_emitted_records_is_never_silent) { expect_emits_are_safe(300); }

TEST(DamageLarge, of_run_files_is_never_silent) { expect_run_is_safe(5000); }
TEST(DamageLarge, of_checkpoints_is_never_silent) { expect_checkpoint_is_safe(5000); }
TEST(DamageLarge, of_closed_trace_shards_is_never_silent) { expect_closed_shard_is_safe(5000); }
TEST(DamageLarge, of_trace_shards_of_killed_writers_is_never_silent) { expect_open_shard_is_safe(5000, "shard.h5"); }
TEST(DamageLarge, of_logs_of_killed_writers_is_never_silent) { expect_open_shard_is_safe(5000, "shard.h5.log"); }
TEST(DamageLarge, of_emitted_records_is_never_silent) { expect_emits_are_safe(5000); }

/// With page checksums that match what it says now.
void reseal_shard(fs::path const& file, std::string content) {
    PageSums sums;
    Pages pages;
    auto const end = content.size();
    content.resize((end + page_bytes - 1) / page_bytes * page_bytes);
    for (std::size_t page = 0; page < content.size() / page_bytes; ++page)
        pages[page] = samples::bytes(std::string_view(content).substr(page * page_bytes, page_bytes));
    sums.set(pages, end);
    auto const after = trailer(sums);
    content.resize(end);
    write_text(file, content.append(reinterpret_cast<char const*>(after.data()), after.size()));
}

std::string packed(std::uint64_t number) { return {reinterpret_cast<char const*>(&number), sizeof number}; }

/// An emit shard of two records, whose data are given to `change` before its pages get right checksums again.
std::string refusal_of(std::function<void(std::string&)> const& change) {
    TemporaryFolder const folder;
    auto const file = folder.path() / "emit.h5";
    std::vector<search::EmitRecord> const records{{0x1122334455667788, samples::bytes("abc")},
                                                  {0x99AABBCCDDEEFF00, samples::bytes("defgh")}};
    EmitShard(file).append(records);
    auto text = read_text(file);
    std::uint64_t end = 0;
    std::memcpy(&end, text.data() + text.size() - 32, sizeof end); // the trailer's first number
    text.resize(end);
    change(text);
    reseal_shard(file, text);
    return message_of<base::InputError>([&] { EXPECT_EQ(read_emit_shard(file, 2), records); });
}

TEST(Damage, of_a_key_under_the_checksum_of_its_page_is_found_by_that_of_its_record) {
    EXPECT_EQ(refusal_of([](auto&) {}), "");
    EXPECT_THAT(refusal_of([](auto& text) { ++text[text.find(packed(0x99AABBCCDDEEFF00))]; }),
                HasSubstr("record 1 has a wrong checksum"));
}

TEST(Damage, of_a_length_that_ends_one_byte_too_late_is_found) {
    EXPECT_THAT(refusal_of([](auto& text) { ++text[text.find(packed(0x99AABBCCDDEEFF00)) + 16]; }),
                HasSubstr("lies outside the stored bytes"));
}

} // namespace
} // namespace espalier::store
