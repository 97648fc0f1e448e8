#pragma once

#include "espalier/program/graph.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace espalier::verify {

struct Proof {
    bool is_proved = false;
    std::string reason; ///< why not
};

/// Proves that programs compute the same real function as a reference, at the sizes they have: every element of an
/// output is rewritten to a normal form (a sum of products of input elements and functions) and the forms are compared.
///
/// Holds where both programs are defined: divisors are not 0, arguments of roots not negative. A proof is never wrong;
/// "not proved" says nothing, except that the laws known here (see src/verify/proof_normal.hpp) do not reach. One for a
/// reference; const use is thread safe.
class Prover {
public:
    /// Throws InputError if the reference is not a legal program.
    explicit Prover(program::Graph const& reference);
    /// Never throws for a legal program; one that is too large for the limit on steps is not proved.
    [[nodiscard]] Proof prove(program::Graph const& candidate) const;

private:
    std::vector<program::Shape> inputs_;
    std::vector<program::Shape> outputs_;
    std::vector<std::vector<std::int64_t>> normal_forms_; ///< of an element of each output
    std::string problem_;                                 ///< why the reference has no normal form
};

} // namespace espalier::verify
