#include "espalier/problems/substitution/operator_graph.hpp"
#include "espalier/problems/substitution/substitution_config.hpp"

namespace espalier::problems::substitution {

using namespace config; // the words of the table below

namespace {

Section<SubstitutionConfig> substitution_section() {
    using Config = SubstitutionConfig;
    Section<Config> section;
    section
        .field({"space", "which operators and inputs graphs are made of: taso is the published set"}, &Config::space,
               choice<SpaceName>({{"taso", SpaceName::taso}}))
        .field({"order",
                "which graphs with concats count: taso (only with an order of tensors that concats keep to) or all"},
               &Config::order, choice<OperandOrder>({{"taso", OperandOrder::taso}, {"all", OperandOrder::all}}))
        .field({"max_ops", "operators of the largest graphs"}, &Config::max_ops, integer<std::int32_t>({1, max_ops}))
        .field({"outputs", "graphs with any number of outputs, or with one"}, &Config::outputs,
               choice<OutputsWanted>({{"any", OutputsWanted::any}, {"one", OutputsWanted::one}}));
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
