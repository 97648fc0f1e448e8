#pragma once

#include <string>
#include <vector>

/// The command line as plain values, made from what the parser knows: shells and the manual page say the same as
/// --help.
namespace espalier::app {

/// What a shell can offer for a value.
enum class Offer { nothing, choices, files, folders };

/// An option, or what stands alone.
struct ArgumentText {
    std::vector<std::string> names; ///< `-o`, `--output`; of what stands alone: `run`
    std::string value;              ///< `FILE`; empty: a flag
    std::string help;
    std::vector<std::string> choices;
    bool is_required = false;
    bool is_repeatable = false;

    [[nodiscard]] Offer offer() const;
};

struct CommandText {
    std::string name;
    std::string help;
    std::string footer;
    std::vector<ArgumentText> options;
    std::vector<ArgumentText> positionals;
    std::vector<CommandText> commands;
};

/// Scripts that teach a shell to complete the program's arguments. None needs more than the shell itself.
[[nodiscard]] std::string bash_completion(CommandText const& program);
[[nodiscard]] std::string zsh_completion(CommandText const& program);
[[nodiscard]] std::string fish_completion(CommandText const& program);

/// In roff, for section 1.
[[nodiscard]] std::string manual_page(CommandText const& program, std::string const& version);

} // namespace espalier::app
