#include "offered.hpp"

#include "espalier/problems/kinds.hpp"

#include <CLI/CLI.hpp>
#include <fmt/ranges.h>

#include <algorithm>

namespace espalier::app {
namespace {

/// The names of formats that some kind has: of a program, of a view, of the whole run.
std::vector<std::string> format_names() {
    std::vector<std::string> names;
    auto const add = [&](std::vector<problems::Format> const& formats) {
        for (auto const& format : formats)
            if (std::ranges::find(names, format.name) == names.end()) names.push_back(format.name);
    };
    for (auto const* kind : problems::kinds()) {
        add(kind->formats());
        add(kind->offers().run_formats);
        for (auto const& view : kind->offers().views) add(view.formats);
    }
    return names;
}

bool is_only_of_programs(problems::Kind const* kind) {
    return kind->offers().run_formats.empty() && kind->offers().views.empty();
}

/// No kind has a whole run, or a view, in this format.
bool is_format_of_programs(std::string const& name) {
    auto const has = [&](std::vector<problems::Format> const& formats) {
        return std::ranges::count(formats, name, &problems::Format::name) > 0;
    };
    return std::ranges::none_of(problems::kinds(), [&](auto const* kind) {
        auto const offers = kind->offers();
        return has(offers.run_formats) ||
               std::ranges::any_of(offers.views, [&](auto const& view) { return has(view.formats); });
    });
}

/// `--placement N` of a kind that has such views.
void add_views(CLI::App& show, ShowArguments& arguments) {
    for (auto const* kind : problems::kinds())
        for (auto const& view : kind->offers().views)
            show.add_option_function<std::size_t>(
                    "--" + view.name,
                    [&arguments, name = view.name](std::size_t number) {
                        arguments.view = name;
                        arguments.number = number;
                    },
                    fmt::format("{} (kind: {})", view.help, kind->name()))
                ->check(CLI::Range(1, 1'000'000'000))
                ->excludes("--program")
                ->type_name("N");
}

} // namespace

void add_formats_and_views(CLI::App& show, ShowArguments& arguments) {
    auto const is_simple = std::ranges::all_of(problems::kinds(), is_only_of_programs);
    auto const names = format_names();
    auto* const format =
        show.add_option("--format", arguments.format,
                        fmt::format("{}{}", is_simple ? "Format of --program: " : "Format: ", fmt::join(names, ", ")));
    format->check(CLI::IsMember(names))->type_name("FORMAT");
    if (is_simple) format->needs("--program");
    show.parse_complete_callback([&arguments] {
        if (!arguments.format.empty() && arguments.program.empty() && is_format_of_programs(arguments.format))
            throw CLI::RequiresError("--format " + arguments.format, "--program");
    });
    add_views(show, arguments);
}

} // namespace espalier::app
