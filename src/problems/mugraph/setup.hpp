#pragma once

#include "target.hpp"

#include "espalier/problems/mugraph/space.hpp"
#include "espalier/smt/answers.hpp"

#include <cstdint>

namespace espalier::problems::mugraph {

/// What all threads share.
struct Setup {
    Target target;
    Space space;
    Prune prune = Prune::native;
    std::uint64_t seed = 1;
    config::HardwareConfig const* hardware = nullptr;
    smt::Answers* answers = nullptr;    ///< of Z3, to all threads
    std::size_t memo_bytes = 48u << 20; ///< of one thread; past it memos start again
    double least_us = 0;                ///< no program can read its inputs and write its outputs faster
    double launch_us = 0;               ///< of every kernel
};

/// Counters of the search, by their place in the problem's info; the reasons of `Reject` come after `first_reject`.
enum class Count : std::uint8_t {
    examined,
    expressions,
    solver_queries,
    solver_us,
    forms_tried,
    no_second_shape,
    stage, ///< the one that the search has come to
    first_reject,
};

} // namespace espalier::problems::mugraph
