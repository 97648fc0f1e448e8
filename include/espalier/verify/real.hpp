#pragma once

#include "espalier/base/stop.hpp"
#include "espalier/program/graph.hpp"

#include <cstdint>
#include <memory>
#include <string>

namespace espalier::verify {

struct RealOptions {
    std::uint64_t seed = 1;
    std::int64_t max_elements = 0; ///< of an output (see sample()); 0: every one. All of them: on more kinds of inputs
};

/// A program that others are compared with in floating point of 64 bits: a net below finite fields and proofs, which
/// know neither signs nor infinities. It can only refute. Evaluates itself once; thread safe.
///
/// Inputs are of both signs, of one sign, of one sign for each tensor, small, large and mixed, and some have zeros.
/// Elements differ only if they differ by more than what rounding can have added to both.
class RealReference {
public:
    /// Throws InputError if the graph is not legal.
    RealReference(program::Graph graph, RealOptions const& options);
    RealReference(RealReference&&) noexcept;
    ~RealReference();
    /// Why the candidate is wrong: not finite where the reference is, or another value. Empty if nothing was found.
    /// Throws InputError if the candidate is not legal; it must have the inputs and outputs of the reference.
    /// Throws Stopped if the run stops meanwhile.
    [[nodiscard]] std::string refute(program::Graph const& candidate, base::StopToken stop = {}) const;

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

} // namespace espalier::verify
