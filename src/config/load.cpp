#include "espalier/config/load.hpp"

#include "files.hpp"
#include "overrides.hpp"
#include "schema.hpp"
#include "shared_keys.hpp"
#include "yaml_reader.hpp"

#include "espalier/base/key_error.hpp"

namespace espalier::config {
namespace {

std::vector<std::string> origins_of(std::vector<Override> const& overrides) {
    std::vector<std::string> out;
    for (auto const& one : overrides) out.push_back(one.origin.empty() ? one.key : one.origin);
    return out;
}

/// The experiment as one map, or nothing if it is not one.
std::optional<Value> read_document(std::string_view text, Context const& at) {
    auto document = read_yaml(text, 0, at);
    if (!document) return std::nullopt;
    if (document->kind == Value::Kind::null) {
        at.error(document->place,
                 "the file is empty; an experiment needs at least 'problem' and 'results' (see config/)");
        return std::nullopt;
    }
    if (!expect_map(*document, at)) return std::nullopt;
    return document;
}

void apply(Value& document, std::vector<Override> const& overrides, Context const& at) {
    for (std::size_t i = 0; i < overrides.size(); ++i) {
        auto value = read_override(overrides[i], static_cast<int>(i) + 1, at);
        if (value) set_at(document, overrides[i].key, std::move(*value));
    }
}

/// A map with this one key of a section, or with none.
Value only(Value const& document, std::string_view section, std::string_view key) {
    auto map = make_map();
    auto const* found = document.find(section);
    if (auto const* entry = found != nullptr ? found->value.find(key) : nullptr) map.entries.push_back(*entry);
    return map;
}

/// `ops[2]` is item 2 of key `ops`. Null if it was not written.
Value const* find_part(Value const& in, std::string_view part) {
    auto const bracket = std::min(part.find('['), part.size());
    auto const* entry = in.find(part.substr(0, bracket));
    if (!entry || bracket == part.size()) return entry ? &entry->value : nullptr;
    auto const index = std::stoul(std::string(part.substr(bracket + 1)));
    return index < entry->value.items.size() ? &entry->value.items[index] : nullptr;
}

/// Where a dotted key was written, or the nearest key around it.
Place place_of(Value const& document, std::string_view key) {
    auto const* at = &document;
    while (!key.empty()) {
        auto const length = std::min(key.find('.'), key.size());
        auto const* next = find_part(*at, key.substr(0, length));
        if (!next) break;
        at = next;
        key.remove_prefix(std::min(length + 1, key.size()));
    }
    return at->place;
}

void ask(Accept const& accept, RunConfig const& config, Value const& document, Context const& at) {
    try {
        accept(config);
    } catch (base::KeyError const& error) {
        at.error(place_of(document, error.key()), error.what());
    } catch (base::InputError const& error) {
        at.error(place_of(document, "problem"), error.what());
    }
}

} // namespace

Experiments::Experiments(ProblemSections kinds) : kinds_(std::move(kinds)), section_(experiment_section(kinds_)) {}

RunConfig Experiments::parse_stored(std::string_view text) const {
    Diagnostics diagnostics("the stored experiment", text);
    Context const at(diagnostics);
    auto document = read_document(text, at);
    if (!document) diagnostics.throw_if_any();
    drop_unread_keys(*document, kinds_);
    auto const config = section_.read(*document, at);
    diagnostics.throw_if_any();
    return config.value();
}

RunConfig Experiments::parse(std::string_view text, std::string const& name, std::vector<Override> const& overrides,
                             Accept const& accept) const {
    text = without_bom(text);
    Diagnostics diagnostics(name, text, origins_of(overrides));
    Context const at(diagnostics);
    auto document = read_document(text, at);
    if (!document) diagnostics.throw_if_any();
    apply(*document, overrides, at);
    auto const config = section_.read(*document, at);
    diagnostics.throw_if_any();
    if (accept) ask(accept, config.value(), *document, at);
    diagnostics.throw_if_any();
    return config.value();
}

RunConfig Experiments::load(std::filesystem::path const& file, std::vector<Override> const& overrides,
                            Accept const& accept) const {
    auto const text = read_text(file, {"an experiment", kinds_.front()->texts().file});
    return parse(text, file.string(), overrides, accept);
}

Nanoseconds peek_start(std::filesystem::path const& file, std::vector<Override> const& overrides) {
    try { // a pipe can be read only once, by the one who reports what is wrong
        auto const text = std::filesystem::is_regular_file(file) ? read_text(file, {}) : std::string();
        Diagnostics unheard(file.string(), text, origins_of(overrides));
        Context const at(unheard);
        auto document = read_document(without_bom(text), at).value_or(make_map());
        apply(document, overrides, at);
        return cluster_section().read(only(document, "cluster", "start"), at).value_or(ClusterConfig{}).start;
    } catch (std::exception const&) {
        return ClusterConfig{}.start;
    }
}

std::string to_yaml(RunConfig const& config) { return to_block(experiment_section({}).write(config)); }

std::string problem_text(ProblemConfig const& problem) {
    auto const& section = problem.section();
    return to_flow(section.write(section.canonical(problem)));
}

std::string Experiments::schema_json() const {
    base::Json schema{
        {"$schema", "http://json-schema.org/draft-07/schema#"},
        {"title", "Espalier experiment"},
        {"description", "What is searched, with which limits, on which cluster, and where the run is kept."}};
    schema.update(section_.schema());
    return schema.dump(2) + '\n';
}

std::string const& kind_of(ProblemConfig const& problem) { return problem.section().name(); }

base::Json parse_yaml_to_json(std::string_view text, std::string const& name) {
    text = without_bom(text);
    Diagnostics diagnostics(name, text);
    auto const value = read_yaml(text, 0, Context(diagnostics));
    diagnostics.throw_if_any();
    return to_json(value.value());
}

} // namespace espalier::config
