#include "espalier/base/log.hpp"

#include "espalier/base/text.hpp"

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <atomic>
#include <cstdlib>
#include <memory>
#include <unistd.h>

namespace espalier::base::log {
namespace {

struct Sink {
    std::shared_ptr<spdlog::sinks::stderr_color_sink_mt> console =
        std::make_shared<spdlog::sinks::stderr_color_sink_mt>();
    spdlog::logger logger{"espalier", console};
    std::atomic<int> rank{0};
    std::atomic<bool> is_colored{false};

    Sink() { logger.set_pattern("espalier: %^%l%$: %v"); }
};

Sink& sink() {
    static Sink the_sink;
    return the_sink;
}

bool wants_color(Color color) {
    if (color == Color::always) return true;
    auto const* no_color = std::getenv("NO_COLOR");
    return color == Color::automatic && isatty(STDERR_FILENO) != 0 && (no_color == nullptr || *no_color == '\0');
}

spdlog::level::level_enum threshold(Options const& options) {
    if (options.level == Level::verbose) return spdlog::level::debug;
    return options.level == Level::quiet || options.rank != 0 ? spdlog::level::warn : spdlog::level::info;
}

void write(spdlog::level::level_enum level, std::string_view message) {
    auto const rank = sink().rank.load();
    auto const text = printable(message); // names and texts from files are in it
    if (rank == 0)
        sink().logger.log(level, "{}", text);
    else
        sink().logger.log(level, "rank {}: {}", rank, text);
}

} // namespace

void configure(Options const& options) {
    auto& s = sink();
    s.rank = options.rank;
    s.is_colored = wants_color(options.color);
    s.console->set_color_mode(s.is_colored ? spdlog::color_mode::always : spdlog::color_mode::never);
    s.logger.set_level(threshold(options));
    s.logger.flush_on(spdlog::level::info);
}

bool is_colored() { return sink().is_colored; }

void note(std::string_view message) { write(spdlog::level::info, message); }
void detail(std::string_view message) { write(spdlog::level::debug, message); }
void warn(std::string_view message) { write(spdlog::level::warn, message); }
void error(std::string_view message) { write(spdlog::level::err, message); }

void raw(std::string_view text) {
    // One write, so that a line is never mixed with another process's.
    [[maybe_unused]] auto const written = ::write(STDERR_FILENO, text.data(), text.size());
}

} // namespace espalier::base::log
