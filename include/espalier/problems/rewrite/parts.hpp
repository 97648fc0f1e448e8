#pragma once

#include "espalier/problems/rewrite/graph.hpp"

#include <map>
#include <string>
#include <vector>

namespace espalier::problems::rewrite {

/// What a model is made of, for rewriting.
struct Understood {
    std::size_t nodes = 0;      ///< of the model and its branches, without Constant, Identity and ConstantOfShape
    std::size_t understood = 0; ///< of these
    std::size_t opaque = 0;
    std::map<std::string, std::size_t> opaque_ops; ///< how many of each op, outside of branches
    std::map<std::string, std::string> reasons;    ///< of each op that is opaque: why the first one is
};

/// A part of a model that is rewritten by itself. Between its ops stands no other, so that whatever is put in its place
/// closes no cycle.
struct Part {
    Graph graph;
    std::vector<std::string> inputs;  ///< names of the graph's inputs in the model
    std::vector<std::string> outputs; ///< and of its outputs
    std::vector<std::size_t> nodes;   ///< of the model
    std::uint64_t structure = 0;      ///< parts with the same one are searched once
};

/// A model, cut into parts at its narrow places.
struct Cut {
    model::Facts facts;
    Understood understood;
    std::vector<Part> parts;
};
struct CutOptions {
    model::Sizes sizes = {};
    std::size_t most_ops = 16; ///< of a part
};
[[nodiscard]] Cut cut(model::Model const& model, CutOptions const& options);

/// The model with other graphs in the place of some of its parts; null: the part stays as it is.
[[nodiscard]] model::Model assembled(model::Model const& model, std::vector<Part> const& parts,
                                     std::vector<Graph const*> const& instead);

} // namespace espalier::problems::rewrite
