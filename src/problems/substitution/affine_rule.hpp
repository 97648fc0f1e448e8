#pragma once

#include "affine_graph.hpp"

#include <utility>
#include <vector>

namespace espalier::problems::substitution::affine {

/// Two graphs that compute the same wherever the parameters have these signs; the right one is not larger.
struct Rule {
    Graph left, right;
    std::vector<std::pair<TermId, SignClass>> signs;
    bool is_proved = false;
};
void pack(Rule const& rule, base::ByteWriter& writer);
/// Throws SystemError if the bytes are not a rule.
[[nodiscard]] Rule unpack_rule(base::ByteReader& reader, Space const& space);

/// With the names that are the same for all equal rules.
[[nodiscard]] Rule canonical(Rule const& rule, Space const& space);
[[nodiscard]] library::Rule plain(Rule const& rule, Space const& space);
/// `c > 0, v > 0`.
[[nodiscard]] std::string condition_text(std::vector<library::SignCondition> const& parameters);

/// Tells under which signs two graphs are equal, by random values. One per thread.
class Conditions {
public:
    Conditions(Space const& space, std::uint64_t seed) : space_(space), seed_(seed) {}

    /// The fewest parameters that must be positive; nothing: it does not hold even if all are.
    [[nodiscard]] std::optional<std::vector<TermId>> find(Graph const& a, Graph const& b);
    /// Many more tries, for what is not proved.
    [[nodiscard]] bool holds_often(Graph const& a, Graph const& b, std::vector<TermId> const& positive) const;
    /// Values of the graph in some worlds of any signs, for telling graphs apart.
    [[nodiscard]] std::vector<std::optional<std::uint64_t>> signature(Graph const& graph);

private:
    [[nodiscard]] std::vector<World> const& worlds(std::vector<SignClass> const& signs);
    [[nodiscard]] bool holds(Graph const& a, Graph const& b, std::vector<TermId> const& positive);

    Space const& space_;
    std::uint64_t seed_;
    std::map<std::vector<SignClass>, std::vector<World>> worlds_;
};

} // namespace espalier::problems::substitution::affine
