#include "espalier/store/times.hpp"

#include "espalier/base/error.hpp"
#include "espalier/base/log.hpp"
#include "places.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace espalier::store {
namespace {

using base::InputError;
using search::MeasuredTime;
using testing::HasSubstr;

MeasuredTime some_time(std::uint64_t what, double ms = 1.5) {
    return {.key = {.what = what, .threads = 2, .machine = "A CPU", .compiler = "c++ 12"},
            .ms = ms,
            .low = ms - 0.1,
            .high = ms + 0.1,
            .details = "{\"verdict\": \"faster\", \"text\": \"\xc3\xa4\"}"};
}

struct Times : testing::Test {
    Times() { base::log::configure({.level = base::log::Level::quiet}); }

    void flip(std::size_t at) const {
        auto text = read_text(path);
        text.at(at) = static_cast<char>(text.at(at) ^ 1);
        write_text(path, text);
    }
    TemporaryFolder folder;
    std::filesystem::path path = folder.path() / "deep" / "times.h5";
};

TEST_F(Times, come_back_as_they_were_written) {
    TimesFile const file(path);
    std::vector const written{some_time(1), some_time(0xfedcba9876543210u, 0.001)};

    file.add(written);

    EXPECT_EQ(file.read(), written);
    EXPECT_EQ(*find_time(file.read(), written[1].key), written[1]);
}

TEST_F(Times, of_no_file_are_none_and_adding_none_makes_none) {
    TimesFile const file(path);
    file.add({});

    EXPECT_TRUE(file.read().empty());
    EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(Times, are_only_found_for_the_same_machine_threads_and_compiler) {
    std::vector const times{some_time(1)};
    for (auto change : {0, 1, 2, 3}) {
        auto key = times[0].key;
        if (change == 0) key.what = 2;
        if (change == 1) key.threads = 1;
        if (change == 2) key.machine = "another";
        if (change == 3) key.compiler = "another";

        EXPECT_EQ(find_time(times, key), nullptr) << change;
    }
}

TEST_F(Times, that_are_measured_again_replace_older_ones) {
    TimesFile const file(path);
    file.add(std::vector{some_time(1), some_time(2)});
    file.add(std::vector{some_time(2, 7), some_time(3)});

    EXPECT_EQ(file.read(), (std::vector{some_time(1), some_time(2, 7), some_time(3)}));
}

TEST_F(Times, in_a_damaged_file_are_refused_with_a_remedy_and_left_alone) {
    TimesFile const file(path);
    file.add(std::vector{some_time(1)});
    flip(read_text(path).size() / 2);
    auto const damaged = read_text(path);

    EXPECT_THAT(message_of<InputError>([&] { (void)file.read(); }), HasSubstr("checksum is wrong"));
    EXPECT_THAT(message_of<InputError>([&] { file.add(std::vector{some_time(2)}); }), HasSubstr("remove it, or name"));
    EXPECT_EQ(read_text(path), damaged);
}

TEST_F(Times, in_a_damaged_file_of_the_cache_are_set_aside_and_new_ones_kept) {
    TimesFile const file(path, TimesFile::IfDamaged::set_aside);
    file.add(std::vector{some_time(1)});
    flip(100);
    auto const damaged = read_text(path);

    EXPECT_TRUE(file.read().empty());
    file.add(std::vector{some_time(2)});

    EXPECT_EQ(file.read(), std::vector{some_time(2)});
    EXPECT_EQ(read_text(path.string() + ".damaged"), damaged);
}

TEST_F(Times, files_of_another_kind_are_not_read_or_overwritten) {
    for (auto const& text : {std::string(), std::string("a: b\n"), std::string(5000, 'x')}) {
        write_text(path, text);

        EXPECT_NE(message_of<InputError>([&] { TimesFile(path).add(std::vector{some_time(1)}); }), "");
        EXPECT_EQ(read_text(path), text);
    }
}

TEST_F(Times, of_many_processes_at_once_are_all_kept) {
    constexpr int processes = 4, each = 8;
    std::vector<pid_t> children;
    for (int p = 0; p < processes; ++p) {
        children.push_back(fork());
        if (children.back() > 0) continue;
        for (int i = 0; i < each; ++i)
            TimesFile(path).add(std::vector{some_time(static_cast<std::uint64_t>(p * each + i))});
        _exit(0);
    }
    for (auto const child : children) {
        int status = 0;
        waitpid(child, &status, 0);
        EXPECT_EQ(status, 0);
    }

    auto const times = TimesFile(path).read();

    EXPECT_EQ(times.size(), std::size_t{processes * each});
    for (std::uint64_t i = 0; i < processes * each; ++i) EXPECT_NE(find_time(times, some_time(i).key), nullptr) << i;
}

TEST_F(Times, wait_for_a_lock_and_are_read_meanwhile) {
    TimesFile const file(path);
    file.add(std::vector{some_time(1)});
    auto const lock = ::open((path.string() + ".lock").c_str(), O_RDWR);
    ASSERT_EQ(::flock(lock, LOCK_EX), 0);
    std::thread other([&] { file.add(std::vector{some_time(2)}); });
    std::this_thread::sleep_for(std::chrono::milliseconds(50));

    EXPECT_EQ(file.read().size(), 1u);
    ::close(lock);
    other.join();

    EXPECT_EQ(file.read().size(), 2u);
}

} // namespace
} // namespace espalier::store
