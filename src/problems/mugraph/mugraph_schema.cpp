#include "mugraph_schema.hpp"

#include "from_onnx.hpp"

#include "espalier/base/error.hpp"
#include "espalier/config/hardware_schema.hpp"
#include "espalier/config/program_schema.hpp"

namespace espalier::problems::mugraph {

using namespace config; // the words of the table below

namespace {

Scalar<Prune> prune() {
    return choice<Prune>({{"native", Prune::native}, {"z3", Prune::z3}, {"both", Prune::both}, {"none", Prune::none}});
}

/// A program, or the ONNX file of a block: what is stored and shared is what was read from it.
Codec<ProgramChoice> program_or_onnx() {
    auto const usual = shared(program_codec());
    auto const file = shared(Codec<std::string>(text()));
    auto read = [usual, file](Value const& value, Context const& at) -> std::optional<ProgramChoice> {
        auto const* const entry = value.kind == Value::Kind::map ? value.find("onnx") : nullptr;
        if (entry == nullptr) return usual->read(value, at);
        report_unknown_keys(value, {"onnx"}, at);
        auto const path = file->read(entry->value, at.in("onnx"));
        if (!path || value.entries.size() > 1) return std::nullopt;
        try {
            return ProgramChoice{source_from_onnx(*path), "", {}};
        } catch (base::InputError const& error) {
            at.error(entry->value.place, error.what());
            return std::nullopt;
        }
    };
    auto schema = [usual, file] {
        auto all = usual->schema();
        all["oneOf"].push_back(
            {{"type", "object"},
             {"additionalProperties", false},
             {"required", base::Json::array({"onnx"})},
             {"properties", {{"onnx", described(file->schema(), "the file of a block: weights become inputs", {})}}}});
        return all;
    };
    return {read, usual->write, schema};
}

Section<MugraphConfig> mugraph_section() {
    Section<MugraphConfig> section;
    section
        .field(
            {"program", "what is optimised: a built-in with its sizes, ops, or the ONNX file of a block",
             "{builtin: rmsnorm_linear}"},
            program_or_onnx(),
            [](MugraphConfig const& config) {
                return ProgramChoice{config.program, config.builtin, config.sizes};
            },
            [](MugraphConfig& config, ProgramChoice const& choice) {
                config.program = choice.source;
                config.builtin = choice.builtin;
                config.sizes = choice.sizes;
            })
        .field({"space", "which programs are searched: mirage, full, or a map that starts from one of them"},
               &MugraphConfig::space, space_codec())
        .field({"prune", "what drops a prefix that cannot lead to the program: the native procedure, Z3, both "
                         "(compared) or nothing"},
               &MugraphConfig::prune, prune())
        .field({"hardware",
                "the machine that costs are for: here (measured once), a name, the path of a YAML file, or a map"},
               &MugraphConfig::hardware, hardware_codec());
    return section;
}

/// The program in its ops and the machine in its numbers.
MugraphConfig canonical(MugraphConfig config) {
    config.program = canonical_source(config.program);
    config.builtin.clear();
    config.sizes.clear();
    config.hardware = canonical_hardware(std::move(config.hardware));
    return config;
}

} // namespace

ProblemSectionOf<MugraphConfig> const& problem_section() {
    using enum SharedKey;
    static ProblemSectionOf<MugraphConfig> const section(
        {.name = "mugraph",
         .example = "{kind: mugraph, program: {builtin: rmsnorm_linear}}",
         .file = "config/mugraph/rmsnorm-linear.yaml",
         .reads = {max_results, verify_batch, best_only, verify_tests, verify_prove, verify_elements, verify_device,
                   measure_top, measure_seconds, measure_times}},
        mugraph_section(), canonical);
    return section;
}

} // namespace espalier::problems::mugraph
