#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

/// The syntax of program text, which knows nothing of ops: one statement a line, blocks in braces.
namespace espalier::program::text {

struct Position {
    std::size_t line = 1;
    std::size_t column = 1;

    auto operator<=>(Position const&) const = default;
};

/// Everything that is wrong with a text, to be said at once.
class Diagnostics {
public:
    Diagnostics(std::string_view text, std::string_view name) : text_(text), name_(name) {}
    void add(Position at, std::string message) { findings_.push_back({at, std::move(message)}); }
    [[nodiscard]] std::size_t count() const { return findings_.size(); }
    void throw_if_any();

private:
    struct Finding {
        Position at;
        std::string message;
    };
    [[nodiscard]] std::string_view line(std::size_t number) const;

    std::string_view text_;
    std::string_view name_;
    std::vector<Finding> findings_;
};

/// `X`, `64`, `"a name"` or `[96, 2]`.
struct Argument {
    enum class Kind : unsigned char { word, number, quoted, list };
    Kind kind = Kind::word;
    Position at;
    std::string text;           ///< of a word or a quoted one
    std::vector<double> values; ///< of a number or a list
};
/// `grid x: 1`.
struct Setting {
    Position at;
    std::string key; ///< words with one space between them
    std::vector<double> values;
};
/// `targets = verb arguments (settings) { block }`.
struct Statement {
    Position at;
    std::vector<Argument> targets; ///< words
    std::string verb;
    Position verb_at;
    std::vector<Argument> arguments;
    std::vector<Setting> settings;
    bool has_block = false;
    bool is_broken =
        false; ///< something is wrong with the line, and said; what it defines is here as far as it is known
    std::vector<Statement> block;
};

/// All statements; what is wrong with the syntax goes to the diagnostics.
[[nodiscard]] std::vector<Statement> read_statements(std::string_view text, Diagnostics& diagnostics);

/// A name in quotes, and whether a name needs none.
[[nodiscard]] std::string quote(std::string_view name);
[[nodiscard]] bool is_word(std::string_view name);

} // namespace espalier::program::text
