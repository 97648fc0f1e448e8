#pragma once

#include "espalier/cluster/conductor.hpp"

namespace espalier::toys {

/// Keeps the last checkpoint in memory.
class MemoryJournal final : public cluster::Journal {
public:
    void save(cluster::RunState const& state) override {
        last = state;
        ++saves;
    }
    cluster::RunState last;
    int saves = 0;
};

} // namespace espalier::toys
