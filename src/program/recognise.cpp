#include "espalier/program/recognise.hpp"

#include <algorithm>
#include <optional>

namespace espalier::program {
namespace {

/// Ops are replaced where they stand, so that every tensor keeps its number until all are known.
class Recogniser {
public:
    explicit Recogniser(Graph const& graph) : tensors_(infer(graph)), out_(graph) {
        for (auto const id : tensors_.ids()) same_.push_back(id);
    }

    Graph run() {
        for (auto const i : out_.ops.ids()) {
            auto& op = out_.ops[i];
            for (auto& in : op.inputs) in = same_[in];
            if (auto other = replaced(op)) op = std::move(*other);
            auto const result = TensorId{static_cast<int>(out_.inputs.size()) + i.value};
            same_[result] = first_like(result);
        }
        for (auto& id : out_.outputs) id = same_[id];
        return std::move(out_);
    }

private:
    /// What is summed, along which axis, and by what the sum is multiplied: a fraction.
    struct Sum {
        TensorId of;
        Attributes along;
        double by = 1, over = 1;
    };

    /// What is computed twice is one tensor: a variance may have centred its operand once more.
    [[nodiscard]] TensorId first_like(TensorId result) const {
        auto const& op = *maker(result);
        for (auto id = static_cast<int>(out_.inputs.size()); id < result.value; ++id)
            if (same_[TensorId{id}].value == id && *maker(TensorId{id}) == op) return TensorId{id};
        return result;
    }

    [[nodiscard]] Op const* maker(TensorId id) const {
        auto const at = tensors_[id].maker;
        return at == no_op ? nullptr : &out_.ops[at];
    }
    [[nodiscard]] Op const* made_by(TensorId id, OpCode code) const {
        auto const* const op = maker(id);
        return op && op->code == code ? op : nullptr;
    }
    [[nodiscard]] double size_along(TensorId id, Attributes const& along) const {
        auto const& shape = tensors_[id].shape;
        return static_cast<double>(shape[*axis_of(along, shape)]);
    }
    [[nodiscard]] bool is_same_axis(TensorId id, Attributes const& a, Attributes const& b) const {
        auto const& shape = tensors_[id].shape;
        return axis_of(a, shape) == axis_of(b, shape);
    }
    [[nodiscard]] std::optional<Sum> sum_of(TensorId id) const {
        Sum out;
        auto const* op = maker(id);
        for (; op && op->code == OpCode::scale; op = maker(op->inputs[0])) {
            out.by *= op->attributes.get(AttributeName::by, 1);
            out.over *= op->attributes.get(AttributeName::over, 1);
        }
        if (!op || op->code != OpCode::sum) return std::nullopt;
        out.of = op->inputs[0];
        out.along = op->attributes;
        return out;
    }
    [[nodiscard]] bool is_mean(Sum const& sum, double sign = 1) const {
        return sign * sum.by * size_along(sum.of, sum.along) == sum.over;
    }

    [[nodiscard]] std::optional<Op> replaced(Op const& op) const {
        switch (op.code) {
        case OpCode::sub:
            return centred(op.inputs[0], op.inputs[1], 1);
        case OpCode::add:
            if (auto out = centred(op.inputs[0], op.inputs[1], -1)) return out;
            return centred(op.inputs[1], op.inputs[0], -1);
        case OpCode::sqrt:
            return root(op.inputs[0]);
        case OpCode::div:
            return normed(op.inputs[0], op.inputs[1]);
        case OpCode::mul:
            if (auto out = divided(op.inputs[0], op.inputs[1])) return out;
            return divided(op.inputs[1], op.inputs[0]);
        default:
            return std::nullopt;
        }
    }
    /// x and its mean, or what is the mean with another sign.
    [[nodiscard]] std::optional<Op> centred(TensorId x, TensorId mean, double sign) const {
        auto const sum = sum_of(mean);
        if (!sum || sum->of != x || !is_mean(*sum, sign)) return std::nullopt;
        return Op{OpCode::center, sum->along, {x}, -1};
    }
    [[nodiscard]] std::optional<Op> root(TensorId square_mean) const {
        double eps = 0;
        if (auto const* const shifted = made_by(square_mean, OpCode::shift)) {
            eps = shifted->attributes.get(AttributeName::by, 0);
            square_mean = shifted->inputs[0];
        }
        auto const sum = sum_of(square_mean);
        if (!sum || !is_mean(*sum) || eps < 0) return std::nullopt;
        auto const of = squared(sum->of);
        if (!of) return std::nullopt;
        return Op{
            OpCode::rms, eps == 0 ? sum->along : sum->along.with(AttributeName::eps, std::vector{eps}), {*of}, -1};
    }
    [[nodiscard]] std::optional<TensorId> squared(TensorId id) const {
        if (auto const* const op = made_by(id, OpCode::square)) return op->inputs[0];
        auto const* const op = made_by(id, OpCode::mul);
        return op && op->inputs[0] == op->inputs[1] ? std::optional(op->inputs[0]) : std::nullopt;
    }
    /// x times one over a root.
    [[nodiscard]] std::optional<Op> divided(TensorId x, TensorId inverse) const {
        auto const* const op = made_by(inverse, OpCode::reciprocal);
        if (!op || !made_by(op->inputs[0], OpCode::rms)) return std::nullopt;
        auto const norm = normed(x, op->inputs[0]);
        return norm ? norm : Op{OpCode::div, {}, {x, op->inputs[0]}, -1};
    }
    [[nodiscard]] std::optional<Op> normed(TensorId x, TensorId root) const {
        auto const* const by = made_by(root, OpCode::rms);
        if (!by || by->inputs[0] != x) return std::nullopt;
        auto const* const center = made_by(x, OpCode::center);
        if (center && is_same_axis(x, center->attributes, by->attributes))
            return Op{OpCode::layer_norm, by->attributes, center->inputs, -1};
        return Op{OpCode::rms_norm, by->attributes, {x}, -1};
    }

    TensorInfos tensors_;
    Graph out_;
    base::IndexedVector<TensorId, TensorId> same_; ///< every tensor: the first one that is the same
};

/// Without what nothing reads.
Recognised without_unread(Graph const& graph) {
    auto const inputs = graph.inputs.size();
    auto const tensors = infer(graph);
    base::IndexedVector<TensorId, bool> is_read(tensors.size());
    for (auto const id : graph.outputs) is_read[id] = true;
    for (auto id = static_cast<int>(tensors.size()); id-- > static_cast<int>(inputs);)
        if (is_read[TensorId{id}])
            for (auto const in : graph.ops[tensors[TensorId{id}].maker].inputs) is_read[in] = true;
    Recognised out{.graph = graph};
    out.graph.ops.clear();
    base::IndexedVector<TensorId, TensorId> number(tensors.size());
    for (auto const id : tensors.ids()) {
        auto const maker = tensors[id].maker;
        if (maker != no_op && !is_read[id]) continue;
        number[id] = out.tensors.next();
        out.tensors.push_back(id);
        if (maker == no_op) continue;
        auto op = graph.ops[maker];
        for (auto& in : op.inputs) in = number[in];
        out.graph.ops.push_back(std::move(op));
        out.ops.push_back(maker);
    }
    for (auto& id : out.graph.outputs) id = number[id];
    return out;
}

/// As it is.
Recognised unchanged(Graph const& graph) {
    Recognised out{.graph = graph};
    for (auto const id : infer(graph).ids()) out.tensors.push_back(id);
    for (auto const id : graph.ops.ids()) out.ops.push_back(id);
    return out;
}

} // namespace

Recognised recognise_norms(Graph const& graph) {
    auto const has_one_output = [](Op const& op) { return op.code != OpCode::graph && info(op.code).outputs == 1; };
    if (!std::ranges::all_of(graph.ops, has_one_output)) return unchanged(graph);
    auto other = Recogniser(graph).run();
    return other == graph ? unchanged(graph) : without_unread(other);
}

bool has(Graph const& graph, OpCode code) {
    return std::ranges::any_of(graph.ops, [&](Op const& op) { return op.code == code; });
}

} // namespace espalier::program
