#include "espalier/store/shards.hpp"

#include "espalier/base/rng.hpp"

#include "store/faults.hpp"
#include "store/places.hpp"
#include "store/samples.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace espalier::store {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

base::Bytes noise(std::size_t size) {
    base::Bytes bytes(size);
    base::Rng rng(base::Seed{size});
    for (auto& byte : bytes) byte = static_cast<std::byte>(rng());
    return bytes;
}

std::vector<search::EmitRecord> sample_records() {
    return {{5, samples::bytes("five")}, {1, {}}, {7, samples::bytes("seven")}};
}

TEST(EmitShard, the_first_records_can_be_read_back) {
    TemporaryFolder const folder;
    auto const file = folder.path() / "emit/segment-001/rank-000000.h5";
    auto const records = sample_records();
    EmitShard shard(file);

    EXPECT_EQ(shard.append(std::span(records).first(1)), 1);
    EXPECT_EQ(shard.append(std::span(records).subspan(1)), 3);

    EXPECT_EQ(read_emit_shard(file, 3), records);
    EXPECT_EQ(read_emit_shard(file, 2), std::vector(records.begin(), records.begin() + 2));
    EXPECT_EQ(read_emit_shard(file, 0), std::vector<search::EmitRecord>{});
}

TEST(EmitShard, missing_records_are_named) {
    TemporaryFolder const folder;
    auto const file = folder.path() / "emit.h5";
    EmitShard(file).append(sample_records());

    EXPECT_THAT(message_of<base::InputError>([&] { (void)read_emit_shard(file, 4); }),
                HasSubstr(file.string() + ": has 3 records, but 4 were committed"));
    EXPECT_THROW((void)read_emit_shard(folder.path() / "none.h5", 1), base::InputError);
}

TEST(EmitShard, what_was_appended_is_synced_before_append_returns) {
    TemporaryFolder const folder;
    auto const records = sample_records();
    EmitShard shard(folder.path() / "emit.h5");
    CallLog const log(folder.path());

    (void)shard.append(records);
    (void)shard.append(records);

    EXPECT_EQ(log.calls(),
              (std::vector<std::string>{"write emit.h5.log", "write emit.h5", "fsync emit.h5.log", "fsync emit.h5",
                                        "fsync .", "write emit.h5.log", "fsync emit.h5.log", "write emit.h5",
                                        "fsync emit.h5.log", "fsync emit.h5"}));
}

TEST(EmitShard, never_overwrites_records) {
    TemporaryFolder const folder;
    auto const file = folder.path() / "emit.h5";
    EmitShard(file).append(sample_records());

    EXPECT_THROW(EmitShard{file}, base::SystemError);

    EXPECT_EQ(read_emit_shard(file, 3), sample_records());
}

TEST(EmitShard, a_full_disk_leaves_the_committed_records) {
    SmallDisk const disk("1m");
    if (!disk.is_mounted()) GTEST_SKIP() << "only root may mount a small file system";
    auto const file = disk.path() / "emit.h5";
    std::vector<search::EmitRecord> const large{{1, noise(10'000)}, {2, noise(20'000)}};
    std::uint64_t written = 0;
    {
        EmitShard shard(file);
        EXPECT_THROW(while (true) written = shard.append(large), base::SystemError);
        EXPECT_THROW(shard.append(sample_records()), base::SystemError);
    }

    EXPECT_GT(written, 0);
    EXPECT_EQ(read_emit_shard(file, written).back(), large.back());
}

} // namespace
} // namespace espalier::store
