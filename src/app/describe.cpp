#include "options.hpp"

#include <fmt/core.h>

#include <sstream>

namespace espalier::app {
namespace {

/// The descriptions of an option's checks, which CLI11 appends to the name of its value.
std::vector<std::string> checks_of(CLI::Option& option) {
    std::vector<std::string> checks;
    try {
        for (int i = 0;; ++i) checks.push_back(option.get_validator(i)->get_description());
    } catch (CLI::OptionNotFound const&) {
        return checks; // there is no other way to ask how many there are
    }
}

/// `{a,b}`, as CLI11 describes a closed set; anything else has no choices.
std::vector<std::string> choices_of(std::string const& check) {
    std::vector<std::string> choices;
    if (!check.starts_with('{') || !check.ends_with('}')) return choices;
    std::istringstream inside(check.substr(1, check.size() - 2));
    for (std::string one; std::getline(inside, one, ',');) choices.push_back(one);
    return choices;
}

std::vector<std::string> names_of(CLI::Option const& option) {
    std::vector<std::string> names;
    for (auto const& name : option.get_snames()) names.push_back("-" + name);
    for (auto const& name : option.get_lnames()) names.push_back("--" + name);
    if (option.get_positional()) names.push_back(option.get_name(true, false));
    return names;
}

ArgumentText describe(CLI::Option& option) {
    ArgumentText text{.names = names_of(option),
                      .help = option.get_description(),
                      .is_required = option.get_required(),
                      .is_repeatable = option.get_multi_option_policy() == CLI::MultiOptionPolicy::TakeAll &&
                                       option.get_items_expected_max() > 2};
    if (option.get_items_expected_max() == 0) return text; // a flag
    text.value = option.get_type_name();
    for (auto const& check : checks_of(option)) {
        if (auto const choices = choices_of(check); !choices.empty()) text.choices = choices;
        if (!check.empty()) text.value.resize(text.value.size() - check.size() - 1);
    }
    return text;
}

} // namespace

CommandText describe(CLI::App& app) {
    CommandText text{.name = app.get_name(), .help = app.get_description(), .footer = app.get_footer()};
    for (auto* const option : app.get_options()) {
        auto& list = option->get_positional() ? text.positionals : text.options;
        list.push_back(describe(*option));
    }
    for (auto* const command : app.get_subcommands({})) {
        text.commands.push_back(describe(*command));
        auto& footer = text.commands.back().footer;
        if (footer == text.footer) footer.clear(); // a command without one inherits it
    }
    return text;
}

Offer ArgumentText::offer() const {
    if (!choices.empty()) return Offer::choices;
    if (value == "FILE") return Offer::files;
    return value == "FOLDER" || value.starts_with("RUN") ? Offer::folders : Offer::nothing;
}

} // namespace espalier::app
