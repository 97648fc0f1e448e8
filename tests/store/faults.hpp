#pragma once

#include <limits>

namespace espalier::store {

/// What the operating system cannot do for the life of this object. faults_test.cpp stands in for the system calls, so
/// that no source of ours needs a door for tests.
class Faults {
public:
    struct Options {
        bool has_no_flock = false;
        bool has_no_fallocate = false;
        int good_writes = std::numeric_limits<int>::max(); ///< positioned writes before all of them fail
    };
    explicit Faults(Options options);
    ~Faults();
    Faults(Faults const&) = delete;
    Faults& operator=(Faults const&) = delete;
};

} // namespace espalier::store
