#pragma once

#include <filesystem>
#include <functional>
#include <limits>
#include <string>
#include <vector>

namespace espalier::store {

/// What the operating system cannot do for the life of this object. faults_test.cpp stands in for the system calls, so
/// that no source of ours needs a door for tests.
class Faults {
public:
    struct Options {
        bool has_no_flock = false;
        bool has_no_fallocate = false;
        int good_writes = std::numeric_limits<int>::max(); ///< positioned writes before all of them fail
        bool is_last_torn = false;                         ///< half of the first failing write reaches the disk
        std::function<void()> before_flock = {};           ///< once
        std::function<void()> before_every_flock = {};
        std::size_t most_bytes = std::numeric_limits<std::size_t>::max(); ///< that a read or write moves at once
        int interruptions = 0;                                            ///< reads and writes that a signal interrupts
    };
    explicit Faults(Options options);
    ~Faults();
    Faults(Faults const&) = delete;
    Faults& operator=(Faults const&) = delete;
};

/// The writes, syncs and renames of files in a folder, in their order: `write a`, `fsync a`, `rename a b`, `fsync .`.
/// Equal neighbours count once.
class CallLog {
public:
    explicit CallLog(std::filesystem::path const& folder);
    ~CallLog();
    CallLog(CallLog const&) = delete;
    CallLog& operator=(CallLog const&) = delete;
    [[nodiscard]] std::vector<std::string> const& calls() const;
};

} // namespace espalier::store
