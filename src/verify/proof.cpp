#include "espalier/verify/proof.hpp"

#include "espalier/base/error.hpp"
#include "proof_domain.hpp"
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
    for (auto const id : typed.graph.outputs) out.push_back(typed.tensors[id].shape);
    return out;
}

/// The element of an output whose index in every dimension is a variable, and when it is defined. Unprovable if it has
/// no normal form within the limit on steps.
class Element {
public:
    Element(TypedGraph const& typed, program::TensorId tensor, base::StopToken stop = {})
        : work_(stop), elements_(work_) {
        Index index;
        for (auto const size : typed.tensors[tensor].shape) index.push_back(work_.form(work_.new_root(size)));
        free_count_ = work_.root_count();
        value_ = normal_form(work_, elements_.element({.typed = typed}, tensor, index));
    }
    [[nodiscard]] Key key() { return KeyWriter(work_, free_count_).write(value_); }
    [[nodiscard]] Facts facts() { return Domain(work_, free_count_).facts(elements_.conditions()); }
    [[nodiscard]] bool is_defined_by(Facts const& facts) {
        Domain domain(work_, free_count_);
        return std::ranges::all_of(elements_.conditions(),
                                   [&](Condition const& condition) { return domain.follows(condition, facts); });
    }

private:
    Workspace work_;
    Elements elements_;
    int free_count_ = 0;
    Sum value_;
};

} // namespace

struct Prover::Known {
    std::vector<Key> normal_forms;
    std::vector<Facts> facts;

    /// All outputs of a candidate.
    [[nodiscard]] Proof compare(TypedGraph const& candidate, base::StopToken stop) const {
        Proof out{true, true, {}};
        for (std::size_t i = 0; i < normal_forms.size(); ++i) {
            Element element(candidate, candidate.graph.outputs[i], stop);
            if (!element.is_defined_by(facts[i])) out = {false, false, undefined(i)};
            if (out.is_proved && element.key() != normal_forms[i])
                out = {false, true, fmt::format("output {} has another normal form", i)};
        }
        return out;
    }
    static std::string undefined(std::size_t output) {
        return fmt::format("output {} divides by something, or takes a root of something, that the reference does not",
                           output);
    }
};

Prover::Prover(Prover&&) noexcept = default;
Prover::~Prover() = default;

Prover::Prover(program::Graph const& reference) : inputs_(input_shapes(reference)) {
    if (reference.level != program::Level::kernel) throw base::InputError("the reference is not a kernel graph");
    TypedGraph const typed(reference);
    outputs_ = output_shapes(typed);
    auto known = std::make_unique<Known>();
    try {
        for (auto const id : reference.outputs) {
            Element element(typed, id);
            known->normal_forms.push_back(element.key());
            known->facts.push_back(element.facts());
        }
    } catch (Unprovable const& unprovable) {
        problem_ = fmt::format("the reference has no normal form: {}", unprovable.reason);
    }
    known_ = std::move(known);
}

Proof Prover::prove(program::Graph const& candidate, base::StopToken stop) const {
    if (candidate.level != program::Level::kernel) return {false, false, "it is not a kernel graph"};
    if (input_shapes(candidate) != inputs_) return {false, false, "it has other inputs"};
    bool is_everywhere_defined = false;
    try {
        TypedGraph const typed(candidate);
        if (output_shapes(typed) != outputs_) return {false, false, "it has other outputs"};
        is_everywhere_defined = is_total(typed);
        return problem_.empty() ? known_->compare(typed, stop) : Proof{false, is_everywhere_defined, problem_};
    } catch (Unprovable const& unprovable) {
        return {false, is_everywhere_defined, unprovable.reason};
    } catch (base::InputError const& error) {
        return {false, false, fmt::format("it is not a legal program: {}", error.what())};
    }
}

} // namespace espalier::verify
