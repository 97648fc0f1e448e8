#include "espalier/config/codec.hpp"

#include <fmt/core.h>

namespace espalier::config {
namespace {

/// What stands where a map or a list should; an override that went inside left it as the shorthand.
bool report_form(Value const& value, std::string const& expected, Context const& at) {
    auto const& there = value.shorthand.empty() ? value : value.shorthand.front();
    auto const message = there.kind == Value::Kind::null
                             ? fmt::format("{} is empty: make it {}, or remove the key", at.name(), expected)
                             : fmt::format("{} must be {}, not {}", at.name(), expected, name_of(there));
    at.error(there.place, message);
    return false;
}

} // namespace

std::string refusal_text(Value const& value, Refusal const& problem, std::string const& expected, Context const& at) {
    if (problem.what.empty())
        return fmt::format("{} must be {}, not {}{}", at.name(), expected, name_of(value), problem.hint);
    auto const& remedy = problem.remedy.empty() ? expected : problem.remedy;
    return fmt::format("{} = {} {}: use {}{}", at.name(), value.text, problem.what, remedy, problem.hint);
}

bool expect_scalar(Value const& value, std::string const& expected, Context const& at) {
    if (value.kind == Value::Kind::scalar) return true;
    if (value.kind == Value::Kind::null) return report_form(value, expected, at);
    at.error(value.place, fmt::format("{} must be {}, not {}", at.name(), expected, name_of(value)));
    return false;
}

bool expect_list(Value const& value, Context const& at) {
    return value.kind == Value::Kind::list || report_form(value, "a list", at);
}

bool expect_map(Value const& value, Context const& at) {
    if (value.kind == Value::Kind::map && value.shorthand.empty()) return true;
    return report_form(value, "a map of keys", at);
}

} // namespace espalier::config
