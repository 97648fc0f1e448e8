#include "kinds.hpp"

namespace espalier::config {
namespace {

std::vector<std::string> names_of(ProblemSections const& kinds) {
    std::vector<std::string> names;
    for (auto const* kind : kinds) names.push_back(kind->name());
    return names;
}

std::optional<ProblemConfig> read(ProblemSections const& kinds, Value const& map, Context const& at) {
    if (!expect_map(map, at)) return std::nullopt;
    auto const names = names_of(kinds);
    auto const key = kind_key(names.front());
    auto const* entry = map.find(key.name);
    if (!entry) {
        report_missing_key(map, key, at);
        return std::nullopt;
    }
    auto const index = read_scalar(word(names), entry->value, at.in(key.name));
    return index ? kinds[*index]->read(map, at) : std::nullopt;
}

base::Json schema(ProblemSections const& kinds) {
    auto all = base::Json::array();
    for (auto const* kind : kinds) all.push_back(kind->schema());
    return {{"oneOf", all}};
}

} // namespace

KeyInfo kind_key(std::string const& example) { return {"kind", "which problem", example}; }

Codec<ProblemConfig> kind_codec(ProblemSections const& kinds) {
    return {[kinds](Value const& map, Context const& at) { return read(kinds, map, at); },
            [](ProblemConfig const& problem) { return problem.section().write(problem); },
            [kinds] { return schema(kinds); }};
}

} // namespace espalier::config
