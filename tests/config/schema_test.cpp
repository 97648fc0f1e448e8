#include "experiments.hpp"

#include "espalier/base/json.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <sstream>

namespace espalier::config::testing {
namespace {

using base::Json;

Json schema() { return Json::parse(experiments().schema_json()); }

using Visit = std::function<void(std::string const& key, Json const& described)>;

/// Calls `visit` for every key with its dotted name, through alternatives.
void walk(Json const& node, std::string const& prefix, Visit const& visit) {
    for (auto const* form : {"anyOf", "oneOf"})
        if (node.contains(form))
            for (auto const& one : node[form]) walk(one, prefix, visit);
    if (!node.contains("properties")) return;
    for (auto const& [name, described] : node["properties"].items()) {
        auto const key = prefix.empty() ? name : prefix + "." + name;
        visit(key, described);
        walk(described, key, visit);
    }
}

std::string text_of(Json const& value) { return value.is_string() ? value.get<std::string>() : value.dump(); }

bool is_section(Json const& described) { return described.contains("properties") || described.contains("oneOf"); }

struct Base {
    std::string text;
    std::string set;
};
/// An experiment that has a use for the key.
Base experiment_with(std::string const& key, Json const& fallback) {
    auto const is_in = [&](std::string const& section) { return key.starts_with(section + "."); };
    // Parameters of a tree have a meaning for some types only; a hybrid one has them all.
    if (is_in("problem.tree")) return {minimal, "problem.tree={type: hybrid}"};
    if (key == "problem.space" && fallback == "taso") return {minimal_substitution, "problem.max_ops=2"};
    if (is_in("problem.space")) return {minimal_mugraph, "problem.space=mirage"};
    for (auto const* name : {"axes", "reductions", "payload", "max_steps", "broadcast", "segments", "sweep"})
        if (key == std::string("problem.") + name) return {minimal_placement, "problem.max_steps=5"};
    for (auto const* name : {"data_ops", "to_ops", "inputs", "operators", "constants"})
        if (key.starts_with(std::string("problem.") + name)) return {minimal_substitution, "problem.space=affine"};
    for (auto const* name : {"order", "max_ops", "outputs"})
        if (key == std::string("problem.") + name) return {minimal_substitution, "problem.space=taso"};
    for (auto const* name : {"model", "digest", "rules", "rules_digest", "backend", "cost", "sizes", "threads",
                             "max_rewrites", "max_states", "variants", "part", "alpha", "unproved"})
        if (key == std::string("problem.") + name) return {minimal_rewrite, "problem.part=9"};
    if (key == "problem.family") return {minimal_mutation, "problem.max_ops=2"};
    if (key == "problem.granularity" || !is_in("problem")) return {minimal, "problem.tree=T1"};
    for (auto const& builtin : program::builtins()) {
        auto const& variants = builtin.variants;
        if (key == "problem.program.variant" && !variants.empty() && fallback == variants.front().name)
            return {minimal_mugraph, "problem.program={builtin: " + std::string(builtin.name) + "}"};
        for (auto const& size : builtin.keys)
            if (key == "problem.program." + std::string(size.name) && fallback == size.default_size)
                return {minimal_mugraph, "problem.program={builtin: " + std::string(builtin.name) + "}"};
    }
    return {minimal_mugraph, "problem.prune=native"};
}

TEST(Schema, it_is_a_draft_07_schema_of_a_closed_object) {
    auto const json = schema();

    EXPECT_EQ(json["$schema"], "http://json-schema.org/draft-07/schema#");
    EXPECT_EQ(json["title"], "Espalier experiment");
    EXPECT_EQ(json["additionalProperties"], false);
    EXPECT_EQ(json["required"], Json::array({"problem", "results"}));
}

TEST(Schema, every_key_is_described_and_is_typed) {
    walk(schema(), "", [](std::string const& key, Json const& described) {
        EXPECT_FALSE(described.value("description", "").empty()) << key;
        auto const is_typed = described.contains("type") || described.contains("enum") || described.contains("const") ||
                              described.contains("anyOf") || described.contains("oneOf");
        EXPECT_TRUE(is_typed) << key;
    });
}

TEST(Schema, every_default_is_accepted_as_the_value_of_its_key) {
    int defaults = 0;
    walk(schema(), "", [&](std::string const& key, Json const& described) {
        if (!described.contains("default")) return;
        auto const& [text, base] = experiment_with(key, described["default"]);
        EXPECT_EQ(errors_of(text, {base, key + "=" + text_of(described["default"])}), "");
        ++defaults;
    });

    EXPECT_GT(defaults, 60);
}

TEST(Schema, the_defaults_together_are_the_default_experiment) {
    std::vector<std::string> sets;
    walk(schema(), "", [&](std::string const& key, Json const& described) {
        if (described.contains("default") && !key.starts_with("problem."))
            sets.push_back(key + "=" + text_of(described["default"]));
    });

    auto const config = parse(minimal, sets);

    EXPECT_EQ(config, parse(minimal));
}

TEST(Schema, ranges_words_and_patterns_are_in_it) {
    auto const json = schema();
    auto const& search = json["properties"]["search"]["properties"];
    auto const& cluster = json["properties"]["cluster"]["properties"];

    EXPECT_EQ(search["verify_batch"]["minimum"], 1);
    EXPECT_EQ(search["verify_batch"]["maximum"], 1'000'000);
    EXPECT_EQ(search["verify_batch"]["default"], 64);
    EXPECT_EQ(search["threads"]["anyOf"][0]["const"], "auto");
    EXPECT_EQ(cluster["policy"]["enum"], Json::array({"hybrid", "static", "omp-dynamic"}));
    EXPECT_TRUE(cluster["lease"].contains("pattern"));
    EXPECT_EQ(cluster["lease"]["description"], "a silent rank counts as lost after this time (a time from 50ms to 1h)");
}

TEST(Schema, the_readme_of_the_experiments_names_every_key) {
    std::ostringstream readme;
    readme << std::ifstream(ESPALIER_SOURCE_DIR "/config/README.md").rdbuf();

    walk(schema(), "", [&](std::string const& key, Json const& described) {
        if (is_section(described)) return;
        EXPECT_NE(readme.str().find("| `" + key + "` |"), std::string::npos) << key;
    });
}

} // namespace
} // namespace espalier::config::testing
