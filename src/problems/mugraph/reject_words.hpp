#pragma once

#include "values.hpp"

#include <array>
#include <string_view>

namespace espalier::problems::mugraph {

/// What a reason is called, and what it means.
struct RejectWords {
    Reject why;
    std::string_view name; ///< in the funnel, in counters and in the trace
    std::string_view meaning;
};
inline constexpr std::array<RejectWords, reject_count> reject_words{{
    {Reject::shape, "shape", "operands do not fit"},
    {Reject::loop_side, "loop side", "one operand in the loop, one after it"},
    {Reject::expression, "expression", "not a subexpression of the target"},
    {Reject::undefined, "undefined", "an exponential of an exponential"},
    {Reject::equal_value, "equal value", "there already"},
    {Reject::unconsumed, "unconsumed", "more tensors than the ops left can use up"},
    {Reject::memory, "memory", "too much shared memory (space.shared_memory)"},
    {Reject::last_op, "last op", "no op is left and it is not the output (space.max_*_ops)"},
    {Reject::no_grid, "no grid", "classes of schedules without a grid that divides the sizes"},
    {Reject::no_loop, "no loop", "classes of schedules without a loop range that divides them"},
}};

[[nodiscard]] constexpr bool has_words_for_all() {
    for (std::size_t i = 0; i < reject_words.size(); ++i)
        if (reject_words[i].why != static_cast<Reject>(i) || reject_words[i].name.empty()) return false;
    return reject_words.back().why == Reject::no_loop;
}
static_assert(has_words_for_all(), "a reason without words, or words at the place of another");

} // namespace espalier::problems::mugraph
