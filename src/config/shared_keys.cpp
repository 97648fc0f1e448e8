#include "shared_keys.hpp"

#include "schema.hpp"

#include "espalier/config/load.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>

namespace espalier::config {
namespace {

/// One row per shared key.
struct Row {
    SharedKey key;
    std::string_view section;
    std::string_view name;
    std::string (*identity)(RunConfig const&) = nullptr; ///< not null: it decides the answer

    [[nodiscard]] std::string full_name() const { return fmt::format("{}.{}", section, name); }
};

constexpr std::array rows{
    Row{SharedKey::max_results, "search", "max_results"},
    Row{SharedKey::verify_batch, "search", "verify_batch"},
    Row{SharedKey::verify_tests, "verify", "tests",
        [](RunConfig const& config) { return fmt::format("tests {}", config.verify.tests); }},
    Row{SharedKey::verify_prove, "verify", "prove",
        [](RunConfig const& config) { return fmt::format("prove {}", config.verify.prove); }},
    Row{SharedKey::verify_elements, "verify", "elements",
        [](RunConfig const& config) { return fmt::format("elements {}", config.verify.elements); }},
    Row{SharedKey::verify_device, "verify", "device"},
    Row{SharedKey::best_only, "search", "best_only",
        [](RunConfig const& config) { return std::string(config.search.best_only ? "best only" : ""); }},
    Row{SharedKey::measure_top, "measure", "top"},
    Row{SharedKey::measure_seconds, "measure", "seconds"},
    Row{SharedKey::measure_times, "measure", "times"},
};

bool is_read(Row const& row, ProblemSection const& kind) { return std::ranges::count(kind.texts().reads, row.key) > 0; }

std::string readers_of(Row const& row, ProblemSections const& kinds) {
    std::string out;
    for (auto const* kind : kinds)
        if (is_read(row, *kind)) out += (out.empty() ? "" : " or ") + kind->name();
    return out.empty() ? "no kind" : "only " + out;
}

Entry const* find(Value const& document, Row const& row) {
    auto const* section = document.find(row.section);
    return section != nullptr ? section->value.find(row.name) : nullptr;
}

bool is_default(RunConfig const& config, Row const& row) {
    auto const table = experiment_section({});
    auto const text = [&](RunConfig const& one) {
        auto const written = table.write(one);
        return to_flow(find(written, row)->value);
    };
    return text(config) == text({.problem = config.problem});
}

void drop(Value& document, Row const& row) {
    auto* section = document.find(row.section);
    if (section == nullptr) return;
    std::erase_if(section->value.entries, [&](Entry const& entry) { return entry.key == row.name; });
}

} // namespace

bool refuse_unread_keys(RunConfig const& config, Value const& document, ProblemSections const& kinds,
                        Context const& at) {
    auto const& kind = config.problem.section();
    bool is_good = true;
    for (auto const& row : rows) {
        auto const* entry = is_read(row, kind) ? nullptr : find(document, row);
        if (entry == nullptr || is_default(config, row)) continue;
        report_meaningless_key(*entry,
                               fmt::format("kind: {} never reads it, {} does", kind.name(), readers_of(row, kinds)),
                               at.in(row.section).in(row.name));
        is_good = false;
    }
    return is_good;
}

void drop_unread_keys(Value& document, ProblemSections const& kinds) {
    auto const* problem = document.find("problem");
    auto const* entry = problem != nullptr ? problem->value.find(kind_key({}).name) : nullptr;
    if (entry == nullptr) return;
    auto const kind = std::ranges::find(kinds, entry->value.text, &ProblemSection::name);
    if (kind == kinds.end()) return;
    for (auto const& row : rows)
        if (!is_read(row, **kind)) drop(document, row);
}

std::string identity_text(RunConfig const& config) {
    std::string out;
    for (auto const& row : rows) {
        if (row.identity == nullptr || !is_read(row, config.problem.section())) continue;
        auto const part = row.identity(config);
        out += (out.empty() || part.empty() ? "" : ", ") + part;
    }
    return out;
}

} // namespace espalier::config
