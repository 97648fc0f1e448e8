#pragma once

#include "espalier/verify/tiles.hpp"

#include <cstdint>
#include <vector>

namespace espalier::verify {

/// Whether values have their part modulo q. Two programs that are compared must agree: `always` if either has an exp.
enum class Exponents : std::uint8_t { if_needed, always };

/// What a random evaluation of a program is drawn from: element i of input t is field::random_input(seed, t, i), with i
/// the row-major index in the whole tensor; the functions are those of field::make_model(seed, ...).
struct Draw {
    std::uint64_t seed = 1;
    field::Roots roots = field::Roots::power;
    Exponents exponents = Exponents::if_needed;
};

/// The values of a program's outputs.
struct Evaluation {
    using Status = OpStatus;
    Status status = Status::done;
    std::vector<Tiles> outputs; ///< a batch of one each; none unless done

    bool operator==(Evaluation const&) const = default;
};

/// Whether an exponential occurs at any level.
[[nodiscard]] bool has_exponential(program::Graph const& graph);
/// Whether values are compared anywhere: a maximum or a minimum.
[[nodiscard]] bool has_order(program::Graph const& graph);
/// Whether a square root occurs at any level, by itself or in a norm.
[[nodiscard]] bool has_root(program::Graph const& graph);
[[nodiscard]] bool has_exponents(program::Graph const& graph, Draw const& draw);

} // namespace espalier::verify
