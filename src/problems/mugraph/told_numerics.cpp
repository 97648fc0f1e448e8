#include "told_numerics.hpp"

#include <fmt/format.h>

#include <cmath>

namespace espalier::problems::mugraph {
namespace {

using base::Json;
using verify::Numerics;

/// JSON has no infinity.
Json finite(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

} // namespace

std::optional<Numerics> NumericsOfList::next(program::Graph const& graph) {
    if (work_left_ <= 0) return std::nullopt;
    constexpr double work_in_vain = 2e5; // to see that it is too much
    auto const found = verify::estimate_numerics(graph);
    work_left_ -= found ? found->work : work_in_vain;
    return found;
}

Json to_json(std::optional<Numerics> const& numerics, program::DType dtype) {
    return {{"dtype", program::info(dtype).name},
            {"rel_error", numerics ? finite(numerics->rel_error) : Json(nullptr)},
            {"largest_magnitude", numerics ? Json(numerics->largest_magnitude) : Json(nullptr)},
            {"overflows", numerics ? Json(numerics->overflows) : Json(nullptr)},
            {"samples", numerics ? numerics->samples : 0},
            {"inputs", verify::numerics_inputs}};
}

std::string error_text(std::optional<Numerics> const& numerics) {
    if (!numerics) return "not estimated";
    if (numerics->overflows) return "overflow";
    if (numerics->rel_error == 0) return "0";
    auto const exponent = static_cast<int>(std::floor(std::log10(numerics->rel_error)));
    auto const digits = fmt::format("{:.1f}", numerics->rel_error / std::pow(10, exponent));
    return digits == "10.0" ? fmt::format("1.0e{}", exponent + 1) : fmt::format("{}e{}", digits, exponent);
}

std::string about_errors(program::DType dtype) {
    return fmt::format("errors are estimates: the largest of {} against float64 on sampled elements, inputs {}\n",
                       program::info(dtype).name, verify::numerics_inputs);
}

} // namespace espalier::problems::mugraph
