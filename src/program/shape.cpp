#include "espalier/program/shape.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace espalier::program {

std::int64_t element_count(Shape const& shape) {
    std::int64_t count = 1;
    for (auto const size : shape) count *= size;
    return count;
}

std::string to_text(Shape const& shape) { return fmt::format("[{}]", fmt::join(shape.begin(), shape.end(), ", ")); }

} // namespace espalier::program
