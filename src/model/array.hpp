#pragma once

#include "espalier/model/evaluate.hpp"

namespace espalier::model {

/// Whether definitions cover elements of this kind at all: real and whole numbers and booleans.
[[nodiscard]] bool is_understood(Element element);
/// The whole number that is left of one in an element of fewer bits; of a boolean, whether it is not 0.
[[nodiscard]] std::int64_t wrap(Element element, std::int64_t value);
/// The nearest number of the element.
[[nodiscard]] double round_to_element(Element element, double value);

} // namespace espalier::model
