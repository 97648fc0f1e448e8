#include "espalier/analysis/report/report.hpp"

#include "data.hpp"
#include "html.hpp"
#include "page_files.hpp"
#include "sections.hpp"

#include "espalier/base/build_info.hpp"

#include <fmt/core.h>

namespace espalier::analysis::report {
namespace {

std::string name_of(RunSummary const& summary) {
    auto folder = summary.folder.lexically_normal();
    if (!folder.has_filename()) folder = folder.parent_path();
    return folder.filename().empty() ? folder.string() : folder.filename().string();
}

std::string footer(Contents const& contents) {
    auto const build = base::build_info();
    auto text = fmt::format("Made by espalier report {} (commit {}).", build.version, build.commit);
    if (contents.trace != nullptr) text += fmt::format(" The trace is that of execution {}.", contents.trace->segment);
    return text;
}

} // namespace

std::string page(Contents const& contents) {
    auto const name = name_of(contents.summary);
    auto const& kind = contents.summary.record.problem_kind;
    return filled(page_template(), {{"title", escaped(fmt::format("{}: {} run", name, kind))},
                                    {"heading", escaped(fmt::format("{}: {} run", name, kind))},
                                    {"style", std::string(page_style())},
                                    {"verdict", verdict_html(contents)},
                                    {"results", results_html(contents)},
                                    {"funnel", funnel_html(contents)},
                                    {"provenance", provenance_html(contents)},
                                    {"reproduce", reproduce_html(contents)},
                                    {"footer", escaped(footer(contents))},
                                    {"data", script_json(data_of(contents))},
                                    {"script", std::string(page_script())}});
}

} // namespace espalier::analysis::report
