#include "command_line.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <sstream>

namespace espalier::app {
namespace {

/// Characters that roff would take for its own; a line that begins with a dot or a quote is a request to it.
std::string escaped(std::string const& text) {
    std::string out = text.starts_with('.') || text.starts_with('\'') ? "\\&" : "";
    for (auto const letter : text) {
        if (letter == '\\')
            out += "\\e";
        else if (letter == '-')
            out += "\\-";
        else
            out += letter;
    }
    return out;
}
std::string bold(std::string const& text) { return "\\fB" + escaped(text) + "\\fR"; }
std::string italic(std::string const& text) { return "\\fI" + escaped(text) + "\\fR"; }

/// Lines as they are: footers hold examples.
std::string as_it_is(std::string const& text) {
    std::string out = ".PP\n.nf\n";
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) out += escaped(line) + "\n";
    return out + ".fi\n";
}

std::string option(ArgumentText const& option) {
    std::vector<std::string> names;
    for (auto const& name : option.names) names.push_back(bold(name));
    auto const value = option.value.empty() ? std::string() : " " + italic(option.value);
    return fmt::format(".TP\n{}{}\n{}\n", fmt::join(names, ", "), value, escaped(option.help));
}

std::string usage(CommandText const& command) {
    std::string text = bold(command.name);
    for (auto const& positional : command.positionals) {
        auto const name = italic(positional.names.front()) + (positional.is_repeatable ? "..." : "");
        text += positional.is_required ? " " + name : " [" + name + "]";
    }
    return text + " [options]";
}

std::string section(CommandText const& command) {
    auto text = fmt::format(".SS {}\n{}.\n", usage(command), escaped(command.help));
    for (auto const& positional : command.positionals)
        text += fmt::format(".TP\n{}\n{}\n", italic(positional.names.front()), escaped(positional.help));
    for (auto const& one : command.options) text += option(one);
    if (!command.footer.empty()) text += as_it_is(command.footer);
    return text;
}

/// `Espalier finds X.` is the name and `finds X`.
std::string purpose(CommandText const& program) {
    auto const text = program.help.substr(program.help.find(' ') + 1);
    return text.ends_with('.') ? text.substr(0, text.size() - 1) : text;
}

std::string upper(std::string text) {
    std::ranges::transform(text, text.begin(), [](unsigned char letter) { return std::toupper(letter); });
    return text;
}

} // namespace

std::string manual_page(CommandText const& program, std::string const& version) {
    auto text = fmt::format(".TH {} 1 \"\" \"{} {}\" \"User Commands\"\n", escaped(upper(program.name)),
                            escaped(program.name), escaped(version));
    text += fmt::format(".SH NAME\n{} \\- {}\n", escaped(program.name), escaped(purpose(program)));
    text += fmt::format(".SH SYNOPSIS\n{} \\fICOMMAND\\fR [arguments]\n", bold(program.name));
    text += fmt::format(".SH DESCRIPTION\n{}\n", escaped(program.help));
    text += ".SH OPTIONS\n";
    for (auto const& one : program.options) text += option(one);
    text += ".SH COMMANDS\n";
    for (auto const& command : program.commands) text += section(command);
    return text + ".SH EXIT STATUS\n" + as_it_is(program.footer);
}

} // namespace espalier::app
