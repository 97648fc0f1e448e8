#include "text_syntax.hpp"

#include "espalier/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

namespace espalier::program::text {
namespace {

constexpr int deepest = 8; ///< programs have three levels; this guards the stack

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_word_char(char c) { return is_letter(c) || is_digit(c); }

struct Token {
    enum class Kind : unsigned char { word, number, quoted, symbol, end };
    Kind kind = Kind::end;
    Position at;
    std::string text; ///< without quotes and escapes
    double number = 0;

    [[nodiscard]] bool is(char symbol) const { return kind == Kind::symbol && text[0] == symbol; }
};

/// A mistake in a line: the rest of the line is skipped.
struct Mistake {
    Position at;
    std::string message;
};

/// Cuts one line into tokens.
class LineLexer {
public:
    LineLexer(std::string_view line, std::size_t number, Diagnostics& diagnostics)
        : line_(line), number_(number), diagnostics_(diagnostics) {}

    std::vector<Token> run() {
        std::vector<Token> out;
        while (skip_blanks()) add_next(out);
        out.push_back({Token::Kind::end, here(), "", 0});
        return out;
    }

private:
    void add_next(std::vector<Token>& out) {
        try {
            out.push_back(next());
        } catch (Mistake const& mistake) {
            diagnostics_.add(mistake.at, mistake.message);
            ++at_;
        }
    }
    [[nodiscard]] Position here() const { return {number_, at_ + 1}; }
    bool skip_blanks() {
        while (at_ < line_.size() && (line_[at_] == ' ' || line_[at_] == '\t' || line_[at_] == '\r')) ++at_;
        return at_ < line_.size() && line_[at_] != '#';
    }
    Token next() {
        auto const c = line_[at_];
        if (is_letter(c)) return word();
        if (is_digit(c) || c == '-' || c == '.') return number();
        if (c == '"') return quoted();
        constexpr std::string_view symbols = "=,:()[]{}";
        if (symbols.find(c) == std::string_view::npos) throw Mistake{here(), unexpected(c)};
        Token out{Token::Kind::symbol, here(), std::string(1, c), 0};
        ++at_;
        return out;
    }
    static std::string unexpected(char c) {
        auto const printed =
            c > ' ' && c < 127 ? std::string(1, c) : fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
        return fmt::format("'{}' is not part of the language: remove it", printed);
    }
    Token word() {
        Token out{Token::Kind::word, here(), "", 0};
        while (at_ < line_.size() && is_word_char(line_[at_])) out.text += line_[at_++];
        return out;
    }
    Token number() {
        Token out{Token::Kind::number, here(), "", 0};
        auto const* const begin = line_.data() + at_;
        auto const [end, error] = std::from_chars(begin, line_.data() + line_.size(), out.number);
        auto const is_glued = end != line_.data() + line_.size() && (is_word_char(*end) || *end == '.');
        if (error != std::errc{} || is_glued)
            throw Mistake{out.at, "this is not a number: write digits, as in 64 or -0.5"};
        at_ += static_cast<std::size_t>(end - begin);
        return out;
    }
    Token quoted() {
        Token out{Token::Kind::quoted, here(), "", 0};
        for (++at_; at_ < line_.size() && line_[at_] != '"'; ++at_)
            out.text += line_[at_] == '\\' ? escaped() : line_[at_];
        if (at_ >= line_.size()) throw Mistake{out.at, "the quotes are not closed: add \" at the end of the name"};
        ++at_;
        return out;
    }
    /// After a backslash: a character as it is, or its number as in \x0a.
    char escaped() {
        ++at_;
        if (at_ >= line_.size() || line_[at_] != 'x') return at_ < line_.size() ? line_[at_] : '\\';
        unsigned code = 0;
        auto const digits = line_.substr(at_ + 1, 2);
        std::from_chars(digits.data(), digits.data() + digits.size(), code, 16);
        at_ += digits.size();
        return static_cast<char>(code);
    }

    std::string_view line_;
    std::size_t number_;
    Diagnostics& diagnostics_;
    std::size_t at_ = 0;
};

/// Reads one statement from the tokens of its line.
class LineParser {
public:
    explicit LineParser(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

    void run(Statement& out) {
        out.at = peek().at;
        read_targets(out);
        out.verb_at = peek().at;
        out.verb = word("the name of an op");
        while (auto argument = read_argument()) out.arguments.push_back(std::move(*argument));
        if (accept('(')) read_settings(out);
        out.has_block = accept('{');
        if (peek().kind != Token::Kind::end)
            throw Mistake{peek().at, "this does not belong here: end the line before it"};
    }

private:
    [[nodiscard]] Token const& peek() const { return tokens_[at_]; }
    Token const& take() { return tokens_[at_ + 1 < tokens_.size() ? at_++ : at_]; }
    bool accept(char symbol) {
        if (!peek().is(symbol)) return false;
        take();
        return true;
    }
    void expect(char symbol) {
        if (!accept(symbol)) throw Mistake{peek().at, fmt::format("expected '{}'", symbol)};
    }
    std::string word(std::string_view what) {
        if (peek().kind != Token::Kind::word) throw Mistake{peek().at, fmt::format("expected {}", what)};
        return take().text;
    }
    double number() {
        if (peek().kind != Token::Kind::number) throw Mistake{peek().at, "expected a number"};
        return take().number;
    }
    /// `a, b =`, if the line has a `=`.
    void read_targets(Statement& out) {
        if (std::ranges::none_of(tokens_, [](Token const& token) { return token.is('='); })) return;
        do {
            auto const at = peek().at;
            out.targets.push_back({Argument::Kind::word, at, word("the name of a tensor"), {}});
        } while (accept(','));
        expect('=');
    }
    std::optional<Argument> read_argument() {
        using Kind = Argument::Kind;
        auto const& token = peek();
        Argument out{Kind::word, token.at, token.text, {}};
        if (token.is('[')) {
            out.kind = Kind::list;
            out.values = list();
            return out;
        }
        if (token.kind == Token::Kind::end || token.kind == Token::Kind::symbol) return std::nullopt;
        if (token.kind == Token::Kind::number) {
            out.kind = Kind::number;
            out.values = {token.number};
        }
        if (token.kind == Token::Kind::quoted) out.kind = Kind::quoted;
        take();
        return out;
    }
    std::vector<double> list() {
        std::vector<double> out;
        expect('[');
        if (accept(']')) return out;
        do out.push_back(number());
        while (accept(','));
        expect(']');
        return out;
    }
    void read_settings(Statement& out) {
        do {
            Setting setting{peek().at, word("the name of a setting"), {}};
            while (peek().kind == Token::Kind::word) setting.key += " " + take().text;
            expect(':');
            setting.values = peek().is('[') ? list() : std::vector{number()};
            out.settings.push_back(std::move(setting));
        } while (accept(','));
        expect(')');
    }

    std::vector<Token> tokens_;
    std::size_t at_ = 0;
};

/// Reads line after line.
class Parser {
public:
    Parser(std::string_view text, Diagnostics& diagnostics) : rest_(text), diagnostics_(diagnostics) {}

    std::vector<Statement> run() {
        auto out = block(0, {});
        while (!rest_.empty()) // after a brace that closes nothing
            for (auto& statement : block(0, {})) out.push_back(std::move(statement));
        return out;
    }

private:
    /// Up to the line with the closing brace, at depth 0 up to the end.
    std::vector<Statement> block(int depth, Position opened) {
        std::vector<Statement> out;
        while (!rest_.empty()) {
            auto const tokens = next_line();
            if (tokens.size() == 2 && tokens[0].is('}')) {
                if (depth == 0) diagnostics_.add(tokens[0].at, "this brace closes nothing: remove it");
                return out;
            }
            if (tokens.size() > 1) add_statement(out, tokens, depth);
        }
        if (depth > 0) diagnostics_.add(opened, "this block is not closed: add a line with }");
        return out;
    }
    void add_statement(std::vector<Statement>& out, std::vector<Token> const& tokens, int depth) {
        auto const opens = tokens[tokens.size() - 2].is('{'); // also of a line that cannot be read
        if (opens && depth >= deepest) {
            diagnostics_.add(tokens[0].at, "blocks are nested too deeply: programs have three levels");
            rest_ = {};
            return;
        }
        Statement statement;
        read_line(tokens, statement);
        if (opens) statement.block = block(depth + 1, tokens[0].at);
        out.push_back(std::move(statement));
    }
    void read_line(std::vector<Token> const& tokens, Statement& statement) {
        try {
            statement.is_broken = line_is_broken_;
            LineParser(tokens).run(statement);
        } catch (Mistake const& mistake) {
            if (!line_is_broken_) diagnostics_.add(mistake.at, mistake.message);
            statement.is_broken = true;
        }
    }
    std::vector<Token> next_line() {
        auto const end = rest_.find('\n');
        auto const line = rest_.substr(0, end);
        rest_ = end == std::string_view::npos ? std::string_view{} : rest_.substr(end + 1);
        auto const before = diagnostics_.count();
        auto tokens = LineLexer(line, ++number_, diagnostics_).run();
        line_is_broken_ = diagnostics_.count() != before;
        return tokens;
    }

    std::string_view rest_;
    Diagnostics& diagnostics_;
    std::size_t number_ = 0;
    bool line_is_broken_ = false; ///< it has characters that are not tokens
};

} // namespace

std::string_view Diagnostics::line(std::size_t number) const {
    auto rest = text_;
    for (; number > 1; --number) {
        auto const end = rest.find('\n');
        rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 1);
    }
    return rest.substr(0, rest.find_first_of("\r\n"));
}

void Diagnostics::throw_if_any() {
    if (findings_.empty()) return;
    std::ranges::stable_sort(findings_, {}, &Finding::at);
    std::string out;
    for (auto const& [at, message] : findings_)
        out += fmt::format("{}{}:{}:{}: {}\n  {}\n  {:>{}}", out.empty() ? "" : "\n", name_, at.line, at.column,
                           message, line(at.line), '^', at.column);
    throw base::InputError(out);
}

std::vector<Statement> read_statements(std::string_view text, Diagnostics& diagnostics) {
    return Parser(text, diagnostics).run();
}

std::string quote(std::string_view name) {
    std::string out = "\"";
    for (auto const c : name)
        if (c == '"' || c == '\\')
            out += {'\\', c};
        else if (static_cast<unsigned char>(c) < ' ')
            out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
        else
            out += c;
    return out + '"';
}

bool is_word(std::string_view name) {
    return !name.empty() && is_letter(name[0]) && std::ranges::all_of(name, is_word_char);
}

} // namespace espalier::program::text
