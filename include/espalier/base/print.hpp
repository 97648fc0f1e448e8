#pragma once

#include "espalier/base/json.hpp"

#include <fmt/core.h>

#include <string_view>
#include <utility>

/// Everything that the commands print: no text from a file reaches a terminal unfiltered (see printable). Nothing else
/// writes to stdout, and only the log writes to stderr as well.
namespace espalier::base {

/// For people, on stdout. Made printable even if stdout is a pipe, as it is below mpiexec.
void say(std::string_view text);
/// For programs, on stdout: byte by byte, unless it is a terminal.
void put(std::string_view data);
/// As put(). Bytes that are not UTF-8, as in some file names, become U+FFFD.
void put_json(Json const& json);
/// A message on stderr, preceded by `espalier: `.
void complain(std::string_view text);
/// A message on stderr that itself says what it is about, as the report on an input file does. Ends its line.
void complain_as_is(std::string_view text);

template <class... Args>
requires(sizeof...(Args) > 0) void say(fmt::format_string<Args...> format, Args&&... args) {
    say(std::string_view(fmt::format(format, std::forward<Args>(args)...)));
}
template <class... Args>
requires(sizeof...(Args) > 0) void put(fmt::format_string<Args...> format, Args&&... args) {
    put(std::string_view(fmt::format(format, std::forward<Args>(args)...)));
}
template <class... Args>
requires(sizeof...(Args) > 0) void complain(fmt::format_string<Args...> format, Args&&... args) {
    complain(std::string_view(fmt::format(format, std::forward<Args>(args)...)));
}

} // namespace espalier::base
