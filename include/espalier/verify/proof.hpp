#pragma once

#include "espalier/base/stop.hpp"
#include "espalier/program/graph.hpp"

#include <memory>
#include <string>
#include <vector>

namespace espalier::verify {

struct Proof {
    bool is_proved = false;
    bool is_defined = false; ///< wherever the reference is; true if it is proved
    std::string reason;      ///< why it is not proved
};

/// Proves that programs compute the same real function as a reference, at the sizes they have: every element of an
/// output is rewritten to a normal form (a sum of products of input elements and functions) and the forms are compared.
///
/// Holds on the whole domain of the reference: wherever an element of it is defined (no divisor is 0, no argument of a
/// root negative), that of the candidate is defined too and has its value. So sqrt(x) sqrt(x) may become sqrt(x x), and
/// never the other way round (see src/verify/proof_domain.hpp). A proof is never wrong; "not proved" says nothing,
/// except that the laws known here (see src/verify/proof_normal.hpp) do not reach. One for a reference; const use is
/// thread safe.
class Prover {
public:
    /// Throws InputError if the reference is not a legal program.
    explicit Prover(program::Graph const& reference);
    Prover(Prover&&) noexcept;
    ~Prover();
    /// A program that is too large for the limit on steps is proved part by part where tensors of it are tensors of the
    /// reference, and otherwise not proved. Throws nothing but Stopped, in the middle of a
    /// proof that is then neither proved nor not proved.
    [[nodiscard]] Proof prove(program::Graph const& candidate, base::StopToken stop = {}) const;

private:
    struct Known;
    class Parts;
    /// What else can be done where elements are too large to be written as a whole, as `failed` says.
    [[nodiscard]] Proof in_parts(program::Graph const& candidate, Proof failed, base::StopToken stop) const;

    program::Graph reference_;
    std::vector<program::Shape> inputs_;
    std::vector<program::Shape> outputs_;
    std::unique_ptr<Known const> known_; ///< of an element of each output
    std::string problem_;                ///< why the reference has no normal form
    bool is_too_large_ = false;          ///< to have one
};

} // namespace espalier::verify
