#include "espalier/problems/rewrite/rewrite_config.hpp"

namespace espalier::problems::rewrite {

using namespace config; // the words of the table below

namespace {

using Sizes = std::map<std::string, std::int64_t>;

Codec<Sizes> sizes_codec() {
    auto const size = integer<std::int64_t>({1, 1'000'000'000});
    auto read = [size](Value const& value, Context const& at) -> std::optional<Sizes> {
        if (!expect_map(value, at)) return std::nullopt;
        Sizes out;
        bool is_good = true;
        for (auto const& entry : value.entries) {
            auto const one = read_scalar(size, entry.value, at.in(entry.key));
            is_good = is_good && one;
            if (one) out[entry.key] = *one;
        }
        return is_good ? std::optional(out) : std::nullopt;
    };
    auto write = [size](Sizes const& sizes) {
        auto map = make_map();
        for (auto const& [name, one] : sizes) map.entries.push_back({name, {}, size.write(one)});
        return map;
    };
    return {read, write, [size] { return base::Json{{"type", "object"}, {"additionalProperties", size.schema}}; }};
}

/// A word for the empty text.
Scalar<std::string> text_or(std::string const& word) { return or_word<std::string>(word, {}, text()); }

bool check_cost(RewriteConfig const& config, Value const& map, Context const& at) {
    if (config.cost != CostKind::measured || !config.backend.empty()) return true;
    at.error(map.find("cost")->value.place,
             fmt::format("{} is measured, and there is no back end that could measure: name a "
                         "command with problem.backend, e.g. run/backend-onnxruntime",
                         at.in("cost").name()));
    return false;
}

Section<RewriteConfig> rewrite_section() {
    using Config = RewriteConfig;
    Section<Config> section;
    section.field({"model", "an ONNX file", "model.onnx"}, &Config::model, text())
        .field({"digest", "of the file's bytes; filled in, so that a run resumes with the model it began with"},
               &Config::digest, text_or("auto"))
        .field({"rules", "a library of rules (`espalier show RUN --format rules`); default: the one that comes with "
                         "Espalier"},
               &Config::rules, text_or("default"))
        .field({"rules_digest", "of the rules; filled in"}, &Config::rules_digest, text_or("auto"))
        .field({"backend", "a command that runs models; it gets a model file, an inputs file (.npz) and a number of "
                           "threads, and prints {\"ms\": [..], \"outputs\": file}; or none"},
               &Config::backend, text_or("none"))
        .field(
            {"cost", "what decides: estimated times, or measured ones; auto: measured where there is a back end"},
            &Config::cost,
            choice<CostKind>(
                {{"auto", CostKind::automatic}, {"estimated", CostKind::estimated}, {"measured", CostKind::measured}}))
        .field({"sizes", "of dimensions that have names in the model, e.g. {batch: 8}; others are 1"}, &Config::sizes,
               sizes_codec())
        .field({"threads", "of the back end"}, &Config::threads, integer<std::int32_t>({1, 4096}))
        .field({"max_rewrites", "most rules that are applied to a part, one after the other"}, &Config::max_rewrites,
               integer<std::int32_t>({0, 100}))
        .field({"max_states", "graphs of a part that a stage keeps, cheapest first"}, &Config::max_states,
               integer<std::int32_t>({1, 100'000}))
        .field({"variants", "graphs of a part that are verified and measured"}, &Config::variants,
               integer<std::int32_t>({1, 1000}))
        .field({"part", "most nodes of a part of the model"}, &Config::part, integer<std::int32_t>({1, 64}))
        .field({"alpha", "how much dearer than the cheapest a graph may be on the way, by estimate"}, &Config::alpha,
               real({1, 100}))
        .field({"unproved", "also rules that are only known to agree on random values"}, &Config::unproved, flag())
        .check(check_cost);
    return section;
}

} // namespace

ProblemSectionOf<RewriteConfig> const& problem_section() {
    using enum SharedKey;
    static ProblemSectionOf<RewriteConfig> const section({.name = "rewrite",
                                                          .example = "{kind: rewrite, model: model.onnx}",
                                                          .file = "config/rewrite/model.yaml",
                                                          .reads = {max_results, verify_batch}},
                                                         rewrite_section());
    return section;
}

} // namespace espalier::problems::rewrite
