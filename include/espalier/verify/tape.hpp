#pragma once

#include "espalier/verify/evaluation.hpp"

#include <cstdint>
#include <vector>

namespace espalier::verify {

using SlotId = base::StrongId<struct SlotTag, std::int32_t>; ///< of a tape
inline constexpr SlotId no_slot{-1};

/// A batch of tiles that a tape makes.
struct Slot {
    program::Shape shape;
    std::int64_t batch = 1;
    bool has_q = false;
    std::int64_t offset = 0; ///< of its first value among all of the tape's, for a device that keeps them in one buffer

    [[nodiscard]] std::int64_t size() const { return batch * element_count(shape); }
};

/// generate and gather: value (i0, i1, ..) of tile b of the result is that of the source at rows[r] plus the sum over
/// dimensions d of indices[rows[r + 1 + d] + i_d], where r = row + b * (1 + rank).
/// trim: value (i0, i1, ..) of tile b is that of the source, or 0 if i_d >= rows[row + b] for the dimension d.
struct TapeStep {
    enum class Kind : std::uint8_t {
        generate, ///< from input `input` of the program, whose values are random
        gather,   ///< from slot `source`
        trim,     ///< of slot `source`, along `dimension`: what is past the end of a tile must not be summed
        op,       ///< of slots `operands`
    };
    Kind kind = Kind::op;
    SlotId out;
    int input = 0; ///< generate: of the program
    SlotId source; ///< gather, trim
    int dimension = 0;
    std::int64_t row = 0;
    program::OpCode code{};
    program::Attributes attributes; ///< `size` is that of the demanded columns
    std::uint32_t tag = 0;          ///< of the op's random function
    std::vector<SlotId> operands;
    std::int64_t loop = 1;            ///< of an accumulator
    std::int64_t count = 0;           ///< of the values in a mean, if there are fewer than in all tiles
    std::vector<SlotId> ends_life_of; ///< which no later step reads
};

/// A program as a flat list of steps that compute the demanded elements of its outputs and little else. All blocks of a
/// grid that are hit and all steps of their loop are one batch. A value, made by compile(); run by run() or by a
/// device.
struct Tape {
    base::IndexedVector<SlotId, Slot> slots;
    std::vector<TapeStep> steps;
    std::vector<std::int64_t>
        rows; ///< of each tile: where it starts in the source, then the starts of its lists in `indices`
    std::vector<std::int64_t> indices; ///< multiples of the source's strides
    std::vector<SlotId> outputs;
    std::int64_t size = 0;        ///< values of all slots
    bool has_q = false;           ///< of the inputs
    bool has_no_exponent = false; ///< an exponential of an exponential: cannot be run
    bool has_tails = false;       ///< steps of kind trim, or counts: a device leaves it to run()
};

} // namespace espalier::verify
