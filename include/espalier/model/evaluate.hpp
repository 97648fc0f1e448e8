#pragma once

#include "espalier/base/stop.hpp"
#include "espalier/model/model.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace espalier::model {

/// A type that is known completely.
struct Known {
    Element element = Element::none;
    Dims dims;

    bool operator==(Known const&) const = default;
};
using KnownTypes = std::map<std::string, Known>;

/// What is known about the values of a model before it runs.
struct Facts {
    KnownTypes types;
    /// Whole numbers that follow from shapes and constants alone (targets of reshape, axes, ..).
    std::map<std::string, TensorPtr> constants;
};
/// Sizes for dimensions that have a name or none; what is not listed is 1.
using Sizes = std::map<std::string, std::int64_t>;

/// Follows the shapes through all ops that are understood. A value whose type does not follow has none.
[[nodiscard]] Facts infer(Model const& model, Sizes const& sizes = {});

/// Nothing if the node is understood: its op is in the table, its attributes, types and constants are what the
/// definition covers. Otherwise why it is not, in words.
[[nodiscard]] std::optional<std::string> not_understood(Node const& node, Model const& model, Facts const& facts);

/// Elements for evaluation: reals as float64, everything else as whole numbers (booleans are 0 and 1).
struct Array {
    Element element = Element::none;
    Dims dims;
    std::vector<double> reals;
    std::vector<std::int64_t> wholes;
    std::vector<std::string> texts;
};
[[nodiscard]] Array to_array(Tensor const& tensor);
/// Rounded to the element.
[[nodiscard]] Tensor to_tensor(Array const& array);

using Arrays = std::map<std::string, Array>;
/// The outputs of the model, by float64 and by the definitions of the ops. Every node must be understood: throws
/// InputError for the first that is not. Throws Stopped.
[[nodiscard]] Arrays evaluate(Model const& model, Arrays const& inputs, base::StopToken const& stop = {});

/// What a node costs, by its definition: multiply-adds count as two.
struct Work {
    double flops = 0;
    double bytes_read = 0;
    double bytes_written = 0;
};
[[nodiscard]] std::optional<Work> work_of(Node const& node, Model const& model, Facts const& facts);

} // namespace espalier::model
