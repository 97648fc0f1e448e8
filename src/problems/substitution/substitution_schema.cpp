#include "espalier/problems/substitution/operator_graph.hpp"
#include "espalier/problems/substitution/substitution_config.hpp"

namespace espalier::problems::substitution {

using namespace config; // the words of the table below

namespace {

Codec<AffineInputs> affine_inputs() {
    using Inputs = AffineInputs;
    Section<Inputs> section;
    section.field({"data", "tensors, all of one shape"}, &Inputs::data, integer<std::int32_t>({1, 3}))
        .field({"scalar", "constant numbers"}, &Inputs::scalar, integer<std::int32_t>({0, 4}))
        .field({"channel", "constants with a number for each channel of the data"}, &Inputs::channel,
               integer<std::int32_t>({0, 2}))
        .field({"bias", "constants with a number for each channel that a convolution makes"}, &Inputs::bias,
               integer<std::int32_t>({0, 2}))
        .field({"weights", "of convolutions, constant"}, &Inputs::weights, integer<std::int32_t>({0, 1}));
    return section.codec();
}

bool is_affine(SubstitutionConfig const& config) { return config.space == SpaceName::affine; }
bool is_taso(SubstitutionConfig const& config) { return config.space == SpaceName::taso; }

template <class M>
void affine_field(Section<SubstitutionConfig>& section, KeyInfo key, M AffineConfig::*member,
                  std::type_identity_t<Codec<M>> const& codec) {
    using Config = SubstitutionConfig;
    section
        .field(
            std::move(key), codec, [member](Config const& config) { return config.affine.*member; },
            [member](Config& config, M value) { config.affine.*member = std::move(value); })
        .only_if(is_affine, "space: affine");
}

Section<SubstitutionConfig> substitution_section() {
    using Config = SubstitutionConfig;
    Section<Config> section;
    section
        .field({"space", "which operators and inputs graphs are made of: taso is the published set, affine has what "
                         "stands around convolutions"},
               &Config::space, choice<SpaceName>({{"taso", SpaceName::taso}, {"affine", SpaceName::affine}}))
        .field({"order",
                "which graphs with concats count: taso (only with an order of tensors that concats keep to) or all"},
               &Config::order, choice<OperandOrder>({{"taso", OperandOrder::taso}, {"all", OperandOrder::all}}))
        .only_if(is_taso, "space: taso")
        .field({"max_ops", "operators of the largest graphs, those on constants included"}, &Config::max_ops,
               integer<std::int32_t>({1, max_ops}))
        .field({"outputs", "graphs with any number of outputs, or with one"}, &Config::outputs,
               choice<OutputsWanted>({{"any", OutputsWanted::any}, {"one", OutputsWanted::one}}))
        .only_if(is_taso, "space: taso");
    affine_field(section, {"data_ops", "operators that read data"}, &AffineConfig::data_ops,
                 integer<std::int32_t>({1, max_ops}));
    affine_field(section, {"to_ops", "operators that read data on the smaller side of a rule, at most"},
                 &AffineConfig::to_ops, integer<std::int32_t>({1, max_ops}));
    affine_field(section, {"inputs", "how many of each class"}, &AffineConfig::inputs, affine_inputs());
    affine_field(section, {"operators", "those that graphs are made of"}, &AffineConfig::operators,
                 list_of(Codec<std::string>(text())));
    affine_field(section, {"constants", "numbers that operators may read"}, &AffineConfig::constants,
                 list_of(Codec<std::string>(text())));
    return section;
}

} // namespace

ProblemSectionOf<SubstitutionConfig> const& problem_section() {
    using enum SharedKey;
    static ProblemSectionOf<SubstitutionConfig> const section(
        {.name = "substitution",
         .example = "{kind: substitution, space: taso, max_ops: 3}",
         .file = "config/substitution/taso-3.yaml",
         .reads = {max_results, verify_batch, verify_prove}},
        substitution_section());
    return section;
}

} // namespace espalier::problems::substitution
