#include "espalier/config/alternatives.hpp"
#include "espalier/problems/uts/uts_config.hpp"

#include <fmt/core.h>

#include <algorithm>

namespace espalier::problems::uts {

using namespace config; // the words of the table below

namespace {

constexpr std::int32_t max_children = 100; // of any node but a binomial root, in UTS 2.1

/// What the key `tree` says.
struct TreeChoice {
    std::string name;
    TreeParameters parameters;
};

Scalar<TreeType> tree_type() {
    return choice<TreeType>({{"geometric", TreeType::geometric},
                             {"binomial", TreeType::binomial},
                             {"hybrid", TreeType::hybrid},
                             {"balanced", TreeType::balanced}});
}

Scalar<TreeShape> tree_shape() {
    return choice<TreeShape>({{"linear", TreeShape::linear},
                              {"exponential", TreeShape::exponential},
                              {"cyclic", TreeShape::cyclic},
                              {"fixed", TreeShape::fixed}});
}

bool has_geometric_part(TreeParameters const& tree) {
    return tree.type == TreeType::geometric || tree.type == TreeType::hybrid;
}
bool has_binomial_part(TreeParameters const& tree) {
    return tree.type == TreeType::binomial || tree.type == TreeType::hybrid;
}
bool has_depth(TreeParameters const& tree) { return tree.type != TreeType::binomial; }
bool is_hybrid(TreeParameters const& tree) { return tree.type == TreeType::hybrid; }

bool is_published(TreeParameters const& tree) {
    return std::ranges::count(named_trees(), tree, &NamedTree::parameters) > 0;
}

/// The first of the keys that is there, else the map.
Place place_of_first(Value const& map, std::initializer_list<char const*> keys) {
    for (auto const* key : keys)
        if (auto const* entry = map.find(key)) return entry->place;
    return map.place;
}

/// A branching process with q m >= 1 has infinite mean. T3L has q m = 1.00007 and is finite with its own seed only.
bool check_is_finite(TreeParameters const& tree, Value const& map, Context const& at) {
    auto const children = tree.q * tree.m;
    if (!has_binomial_part(tree) || children < 1 || is_published(tree)) return true;
    at.error(place_of_first(map, {"q", "m"}),
             fmt::format("{} has q * m = {} children per node, so the expected tree is infinite: use q * m < 1",
                         at.name(), children));
    return false;
}

/// b_i = b depth^(-log b / log d) needs log d > 0, and shrinks only for b > 1.
bool check_exponential(TreeParameters const& tree, Value const& map, Context const& at) {
    if (!has_geometric_part(tree) || tree.shape != TreeShape::exponential || (tree.b > 1 && tree.depth > 1))
        return true;
    at.error(place_of_first(map, {tree.b > 1 ? "depth" : "b", "shape"}),
             fmt::format("{} is exponential, which needs b > 1 and depth > 1 to get narrower with depth", at.name()));
    return false;
}

Section<TreeParameters> tree_section() {
    using Tree = TreeParameters;
    Section<Tree> section;
    section.field({"type", "which law gives the number of children"}, &Tree::type, tree_type())
        .field({"shape", "how the branching factor changes with depth"}, &Tree::shape, tree_shape())
        .only_if(has_geometric_part, "for geometric and hybrid trees")
        .field({"b", "branching factor at the root"}, &Tree::b, real({1, 1e6}))
        .field({"depth", "depth of the tree"}, &Tree::depth, integer<std::int32_t>({1, 1'000'000}))
        .only_if(has_depth, "for geometric, hybrid and balanced trees")
        .field({"q", "probability of m children"}, &Tree::q, real({0, 1}))
        .only_if(has_binomial_part, "for binomial and hybrid trees")
        .field({"m", "number of children of a node that has some"}, &Tree::m, integer<std::int32_t>({0, max_children}))
        .only_if(has_binomial_part, "for binomial and hybrid trees")
        .field({"shift", "share of the depth that is geometric, binomial below"}, &Tree::shift, real({0, 1}))
        .only_if(is_hybrid, "for hybrid trees")
        .field({"seed", "seed of the root"}, &Tree::seed, integer<std::int32_t>({0}))
        .check(check_is_finite)
        .check(check_exponential);
    return section;
}

Scalar<TreeChoice> tree_name() {
    std::vector<std::string> names;
    for (auto const& tree : named_trees()) names.emplace_back(tree.name);
    auto const words = word(names);
    auto parse = [words](Value const& value) -> Parsed<TreeChoice> {
        auto const index = words.parse(value);
        if (auto const* problem = std::get_if<Refusal>(&index)) return *problem;
        auto const& tree = named_trees()[std::get<std::size_t>(index)];
        return TreeChoice{std::string(tree.name), tree.parameters};
    };
    auto write = [](TreeChoice const& tree) { return tree.name.empty() ? Value{} : make_plain(tree.name); };
    return {words.expected + " or a map of parameters", parse, write, words.schema};
}

Section<UtsConfig> uts_section() {
    Section<UtsConfig> section;
    section
        .field(
            {"tree", "a published tree by name, or the parameters of one"},
            word_or_section(tree_name(), tree_section(), &TreeChoice::parameters),
            [](UtsConfig const& uts) {
                return TreeChoice{uts.tree, uts.parameters};
            },
            [](UtsConfig& uts, TreeChoice const& choice) {
                uts.tree = choice.name;
                uts.parameters = choice.parameters;
            })
        .field({"granularity", "how often the hash of a node is repeated: slower nodes, same counts"},
               &UtsConfig::granularity, integer<std::int32_t>({1, 1'000'000'000}));
    return section;
}

/// Without the tree's name, which its parameters imply.
UtsConfig canonical(UtsConfig config) {
    config.tree.clear();
    return config;
}

} // namespace

ProblemSectionOf<UtsConfig> const& problem_section() {
    static ProblemSectionOf<UtsConfig> const section(
        {.name = "uts", .example = "{kind: uts, tree: T1}", .file = "config/uts-t1.yaml", .reads = {}}, uts_section(),
        canonical);
    return section;
}

} // namespace espalier::problems::uts
