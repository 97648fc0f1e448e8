#include "espalier/base/rng.hpp"
#include "espalier/store/records.hpp"
#include "espalier/store/run_folder.hpp"
#include "espalier/store/shards.hpp"
#include "places.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

namespace espalier::store {
namespace {

using search::EmitRecord;
using testing::HasSubstr;

/// Records x = first .. end - 1 with spread keys and bytes of different lengths.
std::vector<EmitRecord> some_records(std::uint64_t first, std::uint64_t end) {
    std::vector<EmitRecord> records;
    for (auto x = first; x < end; ++x)
        records.push_back({base::Rng::mix(x + 1), base::Bytes(x % 5, static_cast<std::byte>(x))});
    return records;
}

std::vector<EmitRecord> sorted(std::vector<EmitRecord> records) {
    std::ranges::sort(records, {}, &EmitRecord::key);
    return records;
}

struct Records : testing::Test {
    std::vector<EmitRecord> all_buckets(int bits) const {
        ListedRecords const listed(folder.path());
        std::vector<EmitRecord> all;
        for (std::uint32_t number = 0; number < 1u << bits; ++number) {
            auto const part = listed.read({.stage = 0, .list = 1, .bits = bits, .number = number}, {});
            for (auto const& record : part) EXPECT_EQ(record.key >> (64 - bits), number);
            all.insert(all.end(), part.begin(), part.end());
        }
        return sorted(all);
    }
    TemporaryFolder folder;
    std::string name = emit_shard_name(1, 0).string();
};

TEST_F(Records, buckets_of_sorted_and_unsorted_batches_are_all_records_once) {
    EmitShard shard(folder.path() / name);
    shard.append(sorted(some_records(0, 5'000)));
    shard.append(some_records(5'000, 5'300));
    shard.append(sorted(some_records(5'300, 5'310)));
    write_record_list(folder.path(), {}, {{name, 5'310}});

    for (int const bits : {1, 4, 11}) EXPECT_EQ(all_buckets(bits), sorted(some_records(0, 5'310)));
}

TEST_F(Records, only_the_rows_that_the_list_names_count) {
    EmitShard shard(folder.path() / name);
    shard.append(sorted(some_records(0, 100)));
    shard.append(sorted(some_records(100, 300)));
    shard.append(sorted(some_records(300, 400)));
    write_record_list(folder.path(), {}, {{name, 300, 100}});

    EXPECT_EQ(all_buckets(3), sorted(some_records(100, 300)));
}

TEST_F(Records, a_shard_that_grows_meanwhile_is_read_as_it_was) {
    EmitShard shard(folder.path() / name);
    shard.append(sorted(some_records(0, 2'000)));
    write_record_list(folder.path(), {}, {{name, 2'000}});
    ListedRecords const listed(folder.path());
    std::vector<EmitRecord> all;
    for (std::uint32_t number = 0; number < 16; ++number) {
        shard.append(sorted(some_records(2'000 + 100 * number, 2'100 + 100 * number)));
        auto const part = listed.read({.list = 1, .bits = 4, .number = number}, {});
        all.insert(all.end(), part.begin(), part.end());
    }

    EXPECT_EQ(sorted(all), sorted(some_records(0, 2'000)));
}

TEST_F(Records, missing_shards_and_records_and_foreign_names_are_refused) {
    EmitShard(folder.path() / name).append(sorted(some_records(0, 10)));
    auto const read = [&] { (void)ListedRecords(folder.path()).read({.list = 1}, {}); };

    EXPECT_THROW(read(), base::InputError);
    write_record_list(folder.path(), {}, {{name, 11}});
    EXPECT_THAT(message_of<base::InputError>(read), HasSubstr("has 10 records, but 11 were committed"));
    write_record_list(folder.path(), {}, {{"emit/../../elsewhere.h5", 1}});
    EXPECT_THAT(message_of<base::InputError>(read), HasSubstr("not a shard of this run"));
}

TEST_F(Records, a_damaged_list_is_refused) {
    write_record_list(folder.path(), {}, {{name, 1}});
    std::fstream file(folder.path() / record_list_name({}), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(100);
    file.put('x');
    file.close();

    EXPECT_THROW((void)read_record_list(folder.path(), {}), base::InputError);
}

} // namespace
} // namespace espalier::store
