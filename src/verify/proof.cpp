#include "espalier/verify/proof.hpp"

#include "espalier/base/error.hpp"
#include "proof_domain.hpp"
#include "proof_normal.hpp"
#include "proof_parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>

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

/// A part of an output: where it begins and how many elements it has, dimension by dimension.
struct Part {
    struct Range {
        std::int64_t from = 0, size = 1;
        auto operator<=>(Range const&) const = default;
    };
    std::vector<Range> ranges;

    [[nodiscard]] static Part whole(program::Shape const& shape) {
        Part out;
        for (auto const size : shape) out.ranges.push_back({0, size});
        return out;
    }
    /// Its variables are its dimensions.
    [[nodiscard]] std::pair<Part, Part> cut(Split const& split) const {
        std::pair out{*this, *this};
        auto const d = static_cast<std::size_t>(split.variable);
        if (d >= ranges.size()) throw Unprovable{"parts of a concatenation are compared or normalised together"};
        out.first.ranges[d].size = split.at;
        out.second.ranges[d].from += split.at;
        out.second.ranges[d].size -= split.at;
        return out;
    }
    auto operator<=>(Part const&) const = default;
};

/// The element of a part of an output whose index in every dimension is a variable, and when it is defined. Unprovable
/// if it has no normal form within the limit on steps; Split if that is not one for the whole part.
class Element {
public:
    Element(TypedGraph const& typed, program::TensorId tensor, Part const& part, base::StopToken stop = {})
        : work_(stop), elements_(work_) {
        Index index;
        for (auto const& [from, size] : part.ranges) {
            auto const form = work_.form(work_.new_variable(size));
            index.push_back(from == 0 ? form : shifted(form, from));
        }
        free_count_ = work_.variable_count();
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
    /// `first_cut`: see TypedGraph.
    explicit Known(program::Graph reference, int first_cut = std::numeric_limits<int>::max())
        : graph(std::move(reference)), typed(graph) {
        typed.first_cut = first_cut;
        for (auto const id : graph.outputs) add(id, Part::whole(typed.tensors[id].shape));
    }

    /// All outputs of a candidate.
    [[nodiscard]] Proof compare(TypedGraph const& candidate, base::StopToken stop) const {
        Proof out{true, true, {}};
        for (std::size_t i = 0; i < graph.outputs.size(); ++i)
            for (auto const& part : parts)
                if (part.output == graph.outputs[i]) compare(candidate, part, {i, stop}, out);
        return out;
    }

private:
    /// Of an element of a part.
    struct Normal {
        program::TensorId output;
        Part part;
        Key key;
        Facts facts;
    };
    struct Question {
        std::size_t output;
        base::StopToken stop;
    };

    void add(program::TensorId output, Part const& part) {
        try {
            parts.push_back(normal(output, part, {}));
        } catch (Split const& split) {
            auto const [first, second] = part.cut(split);
            add(output, first);
            add(output, second);
        }
    }
    [[nodiscard]] Normal normal(program::TensorId output, Part const& part, base::StopToken stop) const {
        Element element(typed, output, part, stop);
        return {output, part, element.key(), element.facts()};
    }
    /// In smaller parts, where the candidate needs them.
    void compare(TypedGraph const& candidate, Normal const& known, Question const& question, Proof& out) const {
        auto const [i, stop] = question;
        try {
            Element element(candidate, candidate.graph.outputs[i], known.part, stop);
            if (!element.is_defined_by(known.facts)) out = {false, false, undefined(i)};
            if (out.is_proved && element.key() != known.key)
                out = {false, true, fmt::format("output {} has another normal form", i)};
        } catch (Split const& split) {
            auto const [first, second] = known.part.cut(split);
            compare(candidate, normal(known.output, first, stop), question, out);
            compare(candidate, normal(known.output, second, stop), question, out);
        }
    }
    static std::string undefined(std::size_t output) {
        return fmt::format(
            "output {} divides by something, or takes a variable of something, that the reference does not", output);
    }

    program::Graph graph;
    TypedGraph typed;
    std::vector<Normal> parts;
};

/// A proof by parts. Where a tensor of the candidate is one of the reference, both are cut, and later ops read an
/// input there: any values, which are defined where the tensor of the reference is.
class Prover::Parts {
public:
    Parts(program::Graph const& reference, program::Graph const& candidate, base::StopToken stop)
        : reference_(reference), candidate_(candidate), stop_(stop), of_reference_(program::infer(reference)),
          of_candidate_(program::infer(candidate)) {}

    [[nodiscard]] Proof run() {
        std::set<program::TensorId> read;
        for (auto const& op : candidate_.ops) read.insert(op.inputs.begin(), op.inputs.end());
        for (auto const id : read)
            if (of_candidate_[id].maker != program::no_op) match(id);
        if (in_reference_.empty()) throw Unprovable{std::string(too_large)};
        return compare(reference_.outputs, candidate_.outputs);
    }

private:
    static constexpr int most_attempts = 48;

    [[nodiscard]] Proof compare(program::TensorIds const& of_reference, program::TensorIds const& of_candidate) const {
        auto const first_cut = static_cast<int>(reference_.inputs.size());
        program::TensorIds mine, others; // the reference does not need a cut that the candidate does not reach
        for (auto const i : cuts_read(candidate_, of_candidate_, in_candidate_, of_candidate)) {
            mine.push_back(in_reference_[i]);
            others.push_back(in_candidate_[i]);
        }
        Known const known(part_of(reference_, of_reference_, mine, of_reference), first_cut);
        auto const part = part_of(candidate_, of_candidate_, others, of_candidate);
        TypedGraph typed(part);
        typed.first_cut = first_cut;
        return known.compare(typed, stop_);
    }
    /// Tensors of the reference that may be one of the candidate, those behind the last one that was found first.
    [[nodiscard]] program::TensorIds others_for(program::TensorId id) const {
        program::TensorIds out, before;
        for (auto const other : of_reference_.ids()) {
            auto const& info = of_reference_[other];
            if (info.maker == program::no_op || !(info.shape == of_candidate_[id].shape)) continue;
            if (std::ranges::count(in_reference_, other) > 0) continue;
            auto const is_behind = in_reference_.empty() || other.value > in_reference_.back().value;
            (is_behind ? out : before).push_back(other);
        }
        out.insert(out.end(), before.begin(), before.end());
        return out;
    }
    /// If a tensor is too large to be looked at, so is everything that is made of it.
    void match(program::TensorId id) {
        for (auto const other : others_for(id)) {
            if (++attempts_ > most_attempts) return;
            try {
                if (!compare({other}, {id}).is_proved) continue;
                in_reference_.push_back(other);
                in_candidate_.push_back(id);
                return;
            } catch (Unprovable const&) {
                return;
            }
        }
    }

    program::Graph const& reference_;
    program::Graph const& candidate_;
    base::StopToken stop_;
    program::TensorInfos of_reference_, of_candidate_;
    std::vector<program::TensorId> in_reference_, in_candidate_; ///< where they are cut
    int attempts_ = 0;
};

Prover::Prover(Prover&&) noexcept = default;
Prover::~Prover() = default;

Prover::Prover(program::Graph const& reference) : reference_(reference), inputs_(input_shapes(reference)) {
    if (reference.level != program::Level::kernel) throw base::InputError("the reference is not a kernel graph");
    TypedGraph const typed(reference);
    outputs_ = output_shapes(typed);
    try {
        known_ = std::make_unique<Known>(reference);
    } catch (Unprovable const& unprovable) {
        is_too_large_ = unprovable.reason == too_large;
        problem_ = fmt::format("the reference has no normal form: {}", unprovable.reason);
    }
}

Proof Prover::prove(program::Graph const& candidate, base::StopToken stop) const {
    if (candidate.level != program::Level::kernel) return {false, false, "it is not a kernel graph"};
    if (input_shapes(candidate) != inputs_) return {false, false, "it has other inputs"};
    bool is_everywhere_defined = false;
    try {
        TypedGraph const typed(candidate);
        if (output_shapes(typed) != outputs_) return {false, false, "it has other outputs"};
        is_everywhere_defined = is_total(typed);
        if (problem_.empty()) return known_->compare(typed, stop);
        Proof const failed{false, is_everywhere_defined, problem_};
        return is_too_large_ ? in_parts(candidate, failed, stop) : failed;
    } catch (Unprovable const& unprovable) {
        Proof const failed{false, is_everywhere_defined, unprovable.reason};
        return unprovable.reason == too_large ? in_parts(candidate, failed, stop) : failed;
    } catch (base::InputError const& error) {
        return {false, false, fmt::format("it is not a legal program: {}", error.what())};
    }
}

Proof Prover::in_parts(program::Graph const& candidate, Proof failed, base::StopToken stop) const {
    try {
        auto proof = Parts(reference_, candidate, stop).run();
        if (proof.is_proved) return proof;
    } catch (Unprovable const&) { // the first reason says more
    }
    return failed;
}

} // namespace espalier::verify
