#include "call.hpp"

#include <fmt/ranges.h>

#include <algorithm>

namespace espalier::model {
namespace {

template <class T>
T const* attribute_of(Node const& node, char const* name) {
    auto const found = node.attributes.find(name);
    if (found == node.attributes.end()) return nullptr;
    auto const* const out = std::get_if<T>(&found->second);
    if (!out) refuse("its attribute {} is of another kind than the op's description says", name);
    return out;
}

} // namespace

std::string words(Dims const& dims) { return fmt::format("[{}]", fmt::join(dims, ", ")); }

std::size_t Call::inputs() const {
    auto out = node_.inputs.size();
    while (out > 0 && node_.inputs[out - 1].empty()) --out;
    return out;
}

Known const& Call::type(std::size_t input) const {
    auto const name = node_.input(input);
    if (name.empty()) refuse("its operand {} is left out", input);
    auto const* const out = knowledge_.type(name);
    if (!out) refuse("the shape of its operand '{}' is not known", name);
    return *out;
}

Wholes Call::constant(std::size_t input) const {
    auto const name = node_.input(input);
    auto const out = knowledge_.wholes(name);
    if (!out) refuse("its operand '{}' is not a constant", name);
    return *out;
}

std::int64_t Call::whole(char const* name, std::int64_t otherwise) const {
    auto const* const found = attribute_of<std::int64_t>(node_, name);
    return found ? *found : otherwise;
}

double Call::real(char const* name, double otherwise) const {
    auto const* const found = attribute_of<float>(node_, name);
    return found ? static_cast<double>(*found) : otherwise;
}

std::string Call::text(char const* name, std::string const& otherwise) const {
    auto const* const found = attribute_of<std::string>(node_, name);
    return found ? *found : otherwise;
}

std::optional<Wholes> Call::wholes(char const* name) const {
    auto const* const found = attribute_of<Wholes>(node_, name);
    return found ? std::optional(*found) : std::nullopt;
}

std::optional<Wholes> Call::attribute_or_input(char const* name, std::size_t input) const {
    if (auto found = wholes(name)) return found;
    return has(input) ? std::optional(constant(input)) : std::nullopt;
}

Wholes const& Call::moderate(Wholes const& numbers) {
    constexpr std::int64_t most = std::int64_t{1} << 40;
    for (auto const number : numbers)
        if (number < -most || number > most) refuse("{} is not a size that a tensor can have", number);
    return numbers;
}

std::size_t Call::axis(std::int64_t axis, std::int64_t rank) const {
    auto const front = axis < 0 ? axis + rank : axis;
    if (front < 0 || front >= rank) refuse("axis {} is not one of {} dimensions", axis, rank);
    return static_cast<std::size_t>(front);
}

std::vector<std::size_t> Call::axes(Wholes const& axes, std::int64_t rank) const {
    std::vector<std::size_t> out;
    for (auto const each : axes) out.push_back(axis(each, rank));
    std::ranges::sort(out);
    if (std::ranges::adjacent_find(out) != out.end()) refuse("it names an axis twice");
    return out;
}

Known Definition::type_of(std::size_t output) const {
    if (auto const* const nest = std::get_if<std::size_t>(&outputs[output])) return nests[*nest].out;
    auto const& data = *std::get<TensorPtr>(outputs[output]);
    return {data.element, data.dims};
}

} // namespace espalier::model
