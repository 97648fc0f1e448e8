#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace espalier::problems::mugraph {

/// Why an op was not taken.
enum class Reject : std::uint8_t {
    shape,
    loop_side,
    expression,
    undefined,
    equal_value,
    unconsumed,
    memory,
    last_op,
    needs,
    no_grid, ///< of a class of schedules, as the next
    no_loop,
};

struct RejectWords {
    Reject why;
    std::string_view name; ///< in the funnel, in counters and in the trace
    std::string_view meaning;
};
inline constexpr std::array reject_words{
    RejectWords{Reject::shape, "shape", "operands do not fit"},
    RejectWords{Reject::loop_side, "loop side", "one operand in the loop, one after it"},
    RejectWords{Reject::expression, "expression", "not a subexpression of the target"},
    RejectWords{Reject::undefined, "undefined", "an exponential of an exponential"},
    RejectWords{Reject::equal_value, "equal value", "there already"},
    RejectWords{Reject::unconsumed, "unconsumed", "more tensors than the ops left can use up"},
    RejectWords{Reject::memory, "memory", "too much shared memory (space.shared_memory)"},
    RejectWords{Reject::last_op, "last op", "no op is left and it is not the output (space.max_*_ops)"},
    RejectWords{Reject::needs, "too far", "more ops are needed than are left (space.max_*_ops)"},
    RejectWords{Reject::no_grid, "no grid", "classes of schedules without a grid that divides the sizes"},
    RejectWords{Reject::no_loop, "no loop", "classes of schedules without a loop range that divides them"},
};
inline constexpr std::size_t reject_count = reject_words.size();

[[nodiscard]] constexpr bool are_in_order() {
    for (std::size_t i = 0; i < reject_count; ++i)
        if (reject_words[i].why != static_cast<Reject>(i)) return false;
    return reject_words.back().why == Reject::no_loop;
}
static_assert(are_in_order(), "a reason without words, or words at the place of another");

[[nodiscard]] constexpr RejectWords const& words_of(Reject why) { return reject_words[static_cast<std::size_t>(why)]; }

} // namespace espalier::problems::mugraph
