#include "espalier/config/load.hpp"

#include "files.hpp"
#include "overrides.hpp"
#include "schema.hpp"
#include "yaml_reader.hpp"

namespace espalier::config {
namespace {

std::vector<std::string> origins_of(std::vector<Override> const& overrides) {
    std::vector<std::string> out;
    for (auto const& one : overrides) out.push_back(one.origin.empty() ? one.key : one.origin);
    return out;
}

/// The experiment as one map, or nothing if it is none.
std::optional<Value> read_root(std::string_view text, Context const& at) {
    auto root = read_yaml(text, 0, at);
    if (!root) return std::nullopt;
    if (root->kind == Value::Kind::null) {
        at.error(root->place, "the file is empty; an experiment needs at least 'problem' and 'results' (see config/)");
        return std::nullopt;
    }
    if (!expect_map(*root, at)) return std::nullopt;
    return root;
}

void apply(Value& root, std::vector<Override> const& overrides, Context const& at) {
    for (std::size_t i = 0; i < overrides.size(); ++i) {
        auto value = read_yaml(overrides[i].value, static_cast<int>(i) + 1, at);
        if (value) set_at(root, overrides[i].key, std::move(*value));
    }
}

} // namespace

RunConfig parse_experiment(std::string_view text, std::string const& name, std::vector<Override> const& overrides) {
    text = without_bom(text);
    Diagnostics diagnostics(name, text, origins_of(overrides));
    Context const at(diagnostics);
    auto root = read_root(text, at);
    if (!root) diagnostics.throw_if_any();
    apply(*root, overrides, at);
    auto const config = experiment_section().read(*root, at);
    diagnostics.throw_if_any();
    return config.value();
}

RunConfig load_experiment(std::filesystem::path const& file, std::vector<Override> const& overrides) {
    return parse_experiment(read_text(file, {"an experiment", "config/uts-t1.yaml"}), file.string(), overrides);
}

std::string to_yaml(RunConfig const& config) { return to_block(experiment_section().write(config)); }

std::string problem_text(ProblemConfig const& problem) {
    auto const& kinds = problem_kinds();
    return to_flow(kinds.write(kinds.canonical(problem)));
}

std::string schema_json() {
    base::Json schema{
        {"$schema", "http://json-schema.org/draft-07/schema#"},
        {"title", "Espalier experiment"},
        {"description", "What is searched, with which limits, on which cluster, and where the run is kept."}};
    schema.update(experiment_section().schema());
    return schema.dump(2) + '\n';
}

std::string_view kind_of(ProblemConfig const& problem) { return problem_kinds().name_of(problem); }

base::Json parse_yaml_to_json(std::string_view text, std::string const& name) {
    text = without_bom(text);
    Diagnostics diagnostics(name, text);
    auto const value = read_yaml(text, 0, Context(diagnostics));
    diagnostics.throw_if_any();
    return to_json(value.value());
}

} // namespace espalier::config
