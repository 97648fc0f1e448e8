#include "commands.hpp"

#include "espalier/base/print.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <string_view>

namespace espalier::app {
namespace {

/// A name of a function of a shell.
std::string identifier(std::string name) {
    std::ranges::replace_if(
        name, [](unsigned char letter) { return std::isalnum(letter) == 0; }, '_');
    return name;
}

std::string escaped(std::string_view text, std::string_view special) {
    std::string out;
    for (auto const letter : text) {
        if (special.find(letter) != std::string_view::npos) out += '\\';
        out += letter;
    }
    return out;
}

/// In single quotes, as bash and zsh read them.
std::string single_quoted(std::string_view text) {
    std::string out = "'";
    for (auto const letter : text) out += letter == '\'' ? std::string("'\\''") : std::string(1, letter);
    return out + "'";
}

std::string joined_names(std::vector<ArgumentText> const& arguments) {
    std::vector<std::string> names;
    for (auto const& argument : arguments) names.insert(names.end(), argument.names.begin(), argument.names.end());
    return fmt::format("{}", fmt::join(names, " "));
}

std::string command_names(CommandText const& program, char const* between) {
    std::vector<std::string> names;
    for (auto const& command : program.commands) names.push_back(command.name);
    return fmt::format("{}", fmt::join(names, between));
}

// --- bash ---

std::string bash_offer(ArgumentText const& argument) {
    switch (argument.offer()) {
    case Offer::choices:
        return fmt::format("words='{}'", fmt::join(argument.choices, " "));
    case Offer::files:
        return "kind=-f";
    case Offer::folders:
        return "kind=-d";
    case Offer::nothing:
        break;
    }
    return ":";
}

/// What may follow an option that has a value: one line per offer, because most options have none.
std::string bash_values(CommandText const& command) {
    std::map<std::string, std::vector<std::string>> names;
    for (auto const& option : command.options)
        if (!option.value.empty())
            for (auto const& name : option.names)
                names[bash_offer(option)].push_back(single_quoted(command.name + " " + name));
    std::string text;
    for (auto const& [offer, options] : names)
        text += fmt::format("        {}) options='' words='' kind=''; {} ;;\n", fmt::join(options, " | "), offer);
    return text;
}

std::string bash_command(CommandText const& command) {
    auto const offer = command.positionals.empty() ? std::string(":") : bash_offer(command.positionals.front());
    return fmt::format("        {}) options='{}'; {} ;;\n", command.name, joined_names(command.options), offer);
}

// --- zsh ---

std::string zsh_action(ArgumentText const& argument) {
    switch (argument.offer()) {
    case Offer::choices:
        return fmt::format("({})", fmt::join(argument.choices, " "));
    case Offer::files:
        return "_files";
    case Offer::folders:
        return "_files -/";
    case Offer::nothing:
        break;
    }
    return " ";
}

std::string zsh_help(std::string const& help) { return escaped(help, "[]:\\"); }

/// One specification of _arguments per name; a name rules out the others, unless the option may be given again.
std::string zsh_option(ArgumentText const& option) {
    std::string text;
    auto const value =
        option.value.empty() ? std::string() : fmt::format(":{}:{}", escaped(option.value, ":"), zsh_action(option));
    for (auto const& name : option.names) {
        auto const before = option.is_repeatable ? "*" : fmt::format("({})", fmt::join(option.names, " "));
        text += fmt::format(" \\\n                {}",
                            single_quoted(fmt::format("{}{}[{}]{}", before, name, zsh_help(option.help), value)));
    }
    return text;
}

std::string zsh_command(CommandText const& command) {
    auto text = fmt::format("            {}) _arguments", command.name);
    for (auto const& option : command.options) text += zsh_option(option);
    for (auto const& positional : command.positionals)
        text += fmt::format(" \\\n                {}",
                            single_quoted(fmt::format("{}:{}:{}", positional.is_repeatable ? "*" : "",
                                                      positional.names.front(), zsh_action(positional))));
    return text + " ;;\n";
}

// --- fish ---

std::string fish_quoted(std::string_view text) { return fmt::format("'{}'", escaped(text, "'\\")); }

std::string fish_offer(ArgumentText const& argument) {
    switch (argument.offer()) {
    case Offer::choices:
        return fmt::format(" -x -a '{}'", fmt::join(argument.choices, " "));
    case Offer::files:
        return " -r -F";
    case Offer::folders:
        return " -x -a '(__fish_complete_directories)'";
    case Offer::nothing:
        break;
    }
    return argument.value.empty() ? "" : " -x";
}

std::string fish_option(ArgumentText const& option) {
    std::string text;
    for (auto const& name : option.names)
        text += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
    return text + fish_offer(option) + " -d " + fish_quoted(option.help);
}

/// What stands alone; -r would make it the value of an option.
std::string fish_positional(ArgumentText const& positional) {
    if (positional.offer() == Offer::files) return " -F";
    auto const offer = fish_offer(positional);
    return offer.starts_with(" -x") ? offer.substr(3) : offer;
}

} // namespace

std::string bash_completion(CommandText const& program) {
    auto const function = identifier(program.name);
    std::string values, commands;
    for (auto const& command : program.commands) {
        values += bash_values(command);
        commands += bash_command(command);
    }
    return fmt::format(R"bash(# bash completion for {0}; made by `{0} completion bash`
_{1}() {{
    local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD - 1]}} command='' options='' words='' kind='' i
    if [[ $word == '=' ]]; then            # bash cuts --format=text in three
        word=''
    elif [[ $before == '=' ]]; then
        before=${{COMP_WORDS[COMP_CWORD - 2]}}
    fi
    for ((i = 1; i < COMP_CWORD; ++i)); do
        if [[ ${{COMP_WORDS[i]}} != -* ]]; then
            command=${{COMP_WORDS[i]}}
            break
        fi
    done
    case $command in
        '') options='{2}'; words='{3}' ;;
{4}    esac
    case "$command $before" in
{5}    esac
    COMPREPLY=()
    if [[ $word == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$options" -- "$word")
    elif [[ -n $words ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
    elif [[ -n $kind ]]; then
        compopt -o filenames 2>/dev/null
        mapfile -t COMPREPLY < <(compgen "$kind" -- "$word")
    fi
}}
complete -F _{1} {0}
)bash",
                       program.name, function, joined_names(program.options), command_names(program, " "), commands,
                       values);
}

std::string zsh_completion(CommandText const& program) {
    std::string names, options, commands;
    for (auto const& command : program.commands) {
        names += fmt::format("        {}\n", single_quoted(escaped(command.name, ":") + ":" + command.help));
        commands += zsh_command(command);
    }
    for (auto const& option : program.options) options += zsh_option(option);
    return fmt::format(R"zsh(#compdef {0}
# zsh completion for {0}; made by `{0} completion zsh`
_{1}() {{
    local curcontext=$curcontext state line
    local -a commands
    commands=(
{2}    )
    _arguments -C{3} \
                '1:command:->command' \
                '*::argument:->argument'
    case $state in
        command) _describe -t commands command commands ;;
        argument) case $words[1] in
{4}        esac ;;
    esac
}}
if [[ $funcstack[1] == _{1} ]]; then _{1} "$@"; else compdef _{1} {0}; fi
)zsh",
                       program.name, identifier(program.name), names, options, commands);
}

std::string fish_completion(CommandText const& program) {
    auto text =
        fmt::format("# fish completion for {0}; made by `{0} completion fish`\ncomplete -c {0} -f\n", program.name);
    auto const add = [&](std::string const& condition, std::string const& rest) {
        text += fmt::format("complete -c {} -n {}{}\n", program.name, fish_quoted(condition), rest);
    };
    for (auto const& option : program.options) add("__fish_use_subcommand", fish_option(option));
    for (auto const& command : program.commands)
        add("__fish_use_subcommand", fmt::format(" -a {} -d {}", command.name, fish_quoted(command.help)));
    for (auto const& command : program.commands) {
        auto const condition = "__fish_seen_subcommand_from " + command.name;
        for (auto const& option : command.options) add(condition, fish_option(option));
        for (auto const& positional : command.positionals)
            if (positional.offer() != Offer::nothing) add(condition, fish_positional(positional));
    }
    return text;
}

namespace {

struct Shell {
    char const* name;
    std::string (*script)(CommandText const&);
};
constexpr std::array known_shells{Shell{"bash", bash_completion}, Shell{"zsh", zsh_completion},
                                  Shell{"fish", fish_completion}};

} // namespace

std::vector<std::string> shells() {
    std::vector<std::string> names;
    for (auto const& shell : known_shells) names.emplace_back(shell.name);
    return names;
}

int completion_command(CommandText const& program, std::string const& shell) {
    auto const* const found = std::ranges::find(known_shells, shell, &Shell::name);
    base::put(found->script(program));
    return 0;
}

} // namespace espalier::app
