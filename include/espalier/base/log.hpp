#pragma once

#include <fmt/core.h>

#include <string_view>
#include <utility>

/// Messages for people, on stderr. The sink is the only global of the program. Thread safe.
namespace espalier::base::log {

enum class Level { quiet, normal, verbose };
enum class Color { automatic, always, never };

struct Options {
    Level level = Level::normal;
    Color color = Color::automatic; ///< `automatic` also honours NO_COLOR
    int rank = 0;                   ///< named in messages of ranks other than 0
};

void configure(Options const& options);
[[nodiscard]] bool is_colored();

/// Shown at `normal` and above by rank 0, at `verbose` by all ranks.
void note(std::string_view message);
/// Shown at `verbose`.
void detail(std::string_view message);
/// Always shown, by any rank.
void warn(std::string_view message);
void error(std::string_view message);

template <class... Args>
requires(sizeof...(Args) > 0) void note(fmt::format_string<Args...> format, Args&&... args) {
    note(std::string_view(fmt::format(format, std::forward<Args>(args)...)));
}
template <class... Args>
requires(sizeof...(Args) > 0) void detail(fmt::format_string<Args...> format, Args&&... args) {
    detail(std::string_view(fmt::format(format, std::forward<Args>(args)...)));
}
template <class... Args>
requires(sizeof...(Args) > 0) void warn(fmt::format_string<Args...> format, Args&&... args) {
    warn(std::string_view(fmt::format(format, std::forward<Args>(args)...)));
}
template <class... Args>
requires(sizeof...(Args) > 0) void error(fmt::format_string<Args...> format, Args&&... args) {
    error(std::string_view(fmt::format(format, std::forward<Args>(args)...)));
}

/// Writes a line to stderr as it is; used by the progress line so that it and messages do not mix.
void raw(std::string_view text);

} // namespace espalier::base::log
