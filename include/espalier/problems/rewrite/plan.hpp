#pragma once

#include "espalier/problems/rewrite/parts.hpp"
#include "espalier/problems/rewrite/rewrite_config.hpp"
#include "espalier/problems/rewrite/rules.hpp"

#include <memory>
#include <vector>

namespace espalier::problems::rewrite {

/// One use of a rule: which pattern, at which op, which of the matches there.
struct Use {
    std::uint32_t pattern = 0;
    std::uint16_t op = 0;
    std::uint16_t match = 0;

    auto operator<=>(Use const&) const = default;
};
using Path = std::vector<Use>;

/// What one part of the model becomes, by what is done to it.
struct Choice {
    std::uint32_t family = 0;
    Path path;

    auto operator<=>(Choice const&) const = default;
};

/// Of a file's bytes. Throws InputError if it cannot be read.
[[nodiscard]] std::string digest_of(std::string const& path);

/// A model as it is rewritten: its parts, the rules, and what graphs cost by estimate. The same on every rank.
///
/// Parts that are alike but for their weights are a family, which is searched once, on its first member.
class Plan {
public:
    /// Reads the model and the rules. Throws InputError.
    explicit Plan(RewriteConfig const& config);

    [[nodiscard]] model::Model const& model() const { return model_; }
    [[nodiscard]] Cut const& parts() const { return cut_; }
    [[nodiscard]] Rules const& rules() const { return *rules_; }
    [[nodiscard]] RewriteConfig const& config() const { return config_; }
    /// Of parts.
    [[nodiscard]] std::vector<std::vector<std::size_t>> const& families() const { return families_; }
    [[nodiscard]] Graph const& first_of(std::uint32_t family) const {
        return cut_.parts[families_[family].front()].graph;
    }

    /// All graphs that one rule makes of this one, in a fixed order.
    void for_each_child(Graph const& graph, Folder& folder, std::function<void(Use const&, Graph)> const& visit) const;
    /// Nothing if the path does not fit the graph.
    [[nodiscard]] std::optional<Graph> follow(Graph const& graph, Path const& path, Folder& folder) const;
    [[nodiscard]] double estimated_ms(Graph const& graph) const;

    struct Whole {
        model::Model model;
        std::size_t rewrites = 0; ///< uses of rules, in all parts
        std::size_t parts = 0;    ///< that are not what they were
        double estimated_ms = 0;  ///< of all understood nodes
        double error = 0;         ///< largest, relative to the largest value of each output, at rounded weights
        std::string problem;      ///< why it must not be shown; empty: nothing is wrong
    };
    struct WholeOptions {
        std::uint64_t seed = 1;
        bool is_checked = true; ///< in float64; else it was before
    };
    /// The model with the choices, each on every member of its family that it fits. Throws Stopped.
    [[nodiscard]] Whole whole(std::vector<Choice> const& choices, Folder& folder, WholeOptions const& options,
                              base::StopToken const& stop) const;
    [[nodiscard]] double input_estimate() const;

private:
    RewriteConfig config_;
    model::Model model_;
    Cut cut_;
    std::shared_ptr<Rules const> rules_; ///< shared by the copies of this value
    std::vector<std::vector<std::size_t>> families_;
};

/// Two graphs with the same inputs, run on random ones in float64.
struct Comparison {
    bool is_equal = false;
    double error = 0; ///< largest difference, relative to the largest value of its output
    std::string problem;
};
struct CompareOptions {
    std::uint64_t seed = 1;
    double tolerance = 1e-6; ///< attributes that are numbers have 24 bits, whatever is computed with them
};
[[nodiscard]] Comparison compare(Graph const& before, Graph const& after, CompareOptions const& options,
                                 base::StopToken const& stop);

/// Inputs of the types that the model declares: whole numbers 0, reals normal, with the sizes of the experiment.
[[nodiscard]] std::map<std::string, model::Tensor> random_inputs(model::Model const& model, model::Facts const& facts,
                                                                 std::uint64_t seed);

} // namespace espalier::problems::rewrite
