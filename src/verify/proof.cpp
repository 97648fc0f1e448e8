#include "espalier/verify/proof.hpp"

#include "espalier/base/error.hpp"
#include "proof_element.hpp"
#include "proof_normal.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace espalier::verify {
namespace {

using namespace proof;

std::vector<program::Shape> input_shapes(program::Graph const& graph) {
    std::vector<program::Shape> out;
    for (auto const& input : graph.inputs) out.push_back(input.shape);
    return out;
}
std::vector<program::Shape> output_shapes(TypedGraph const& typed) {
    std::vector<program::Shape> out;
    for (auto const id : typed.graph.outputs) out.push_back(typed.tensors[static_cast<std::size_t>(id)].shape);
    return out;
}

/// The normal form of the element whose index in every dimension is a variable. Unprovable if there is none within the
/// limit on steps.
Key key_of_element(TypedGraph const& typed, int tensor) {
    Workspace work;
    Index index;
    for (auto const size : typed.tensors[static_cast<std::size_t>(tensor)].shape)
        index.push_back(work.form(work.new_root(size)));
    auto const free_count = work.root_count();
    auto const element = normal_form(work, Elements(work).element({.typed = typed}, tensor, index));
    return KeyWriter(work, free_count).write(element);
}

} // namespace

Prover::Prover(program::Graph const& reference) : inputs_(input_shapes(reference)) {
    if (reference.level != program::Level::kernel) throw base::InputError("the reference is not a kernel graph");
    TypedGraph const typed(reference);
    outputs_ = output_shapes(typed);
    try {
        for (auto const id : reference.outputs) normal_forms_.push_back(key_of_element(typed, id));
    } catch (Unprovable const& unprovable) {
        problem_ = fmt::format("the reference has no normal form: {}", unprovable.reason);
    }
}

Proof Prover::prove(program::Graph const& candidate) const {
    if (!problem_.empty()) return {false, problem_};
    if (candidate.level != program::Level::kernel) return {false, "it is not a kernel graph"};
    if (input_shapes(candidate) != inputs_) return {false, "it has other inputs"};
    try {
        TypedGraph const typed(candidate);
        if (output_shapes(typed) != outputs_) return {false, "it has other outputs"};
        for (std::size_t i = 0; i < outputs_.size(); ++i)
            if (key_of_element(typed, candidate.outputs[i]) != normal_forms_[i])
                return {false, fmt::format("output {} has another normal form", i)};
    } catch (Unprovable const& unprovable) {
        return {false, unprovable.reason};
    } catch (base::InputError const& error) {
        return {false, fmt::format("it is not a legal program: {}", error.what())};
    }
    return {true, {}};
}

} // namespace espalier::verify
