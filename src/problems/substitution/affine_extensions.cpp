#include "affine_extensions.hpp"

#include <algorithm>

namespace espalier::problems::substitution::affine {
namespace {

class Extending {
public:
    Extending(Graph const& graph, Space const& space, Budget budget, std::function<void(Graph const&)> const& visit)
        : graph_(graph), space_(space), budget_(budget), visit_(visit) {
        int used = 0;
        for (auto const& op : graph.used())
            for (auto const term : {op.p, op.q})
                if (term != no_term) reads_ |= space.reads(term);
        for (auto const& op : graph.used())
            for (auto const ref : {op.x, op.y})
                if (ref < first_made) used = std::max(used, ref + 1);
        for (int i = 0; i < std::min(used + 1, space.data_inputs()); ++i) data_.push_back(static_cast<DataRef>(i));
        second_input_ = used == 0 && space.data_inputs() > 1;
        for (int i = 0; i < graph.count; ++i) data_.push_back(static_cast<DataRef>(first_made + i));
    }

    void run() {
        for (auto const code : space_.operators())
            for (auto const x : data_) with(code, x);
    }

private:
    void with(Op code, DataRef x) {
        auto const type = type_of(x, graph_);
        switch (code) {
        case Op::relu:
        case Op::hard_swish:
            return put({code, x});
        case Op::add:
        case Op::mul:
            for (auto const y : data_)
                if (y >= x && type_of(y, graph_) == type) put({code, x, y});
            if (second_input_) put({code, x, DataRef{1}});
            return with_constant(code, x, type);
        case Op::div:
            return with_constant(code, x, type);
        case Op::clip:
        case Op::hard_sigmoid:
            for (auto const p : within(Type::scalar))
                for (auto const q : within(Type::scalar)) put({code, x, no_data, p, q});
            return;
        case Op::conv:
        case Op::conv_bias:
            if (type != Type::data) return;
            for (auto const p : within(Type::weights)) {
                if (code == Op::conv) put({code, x, no_data, p});
                if (code == Op::conv) continue;
                for (auto const q : within(Type::out_channel)) put({code, x, no_data, p, q});
            }
        }
    }
    void with_constant(Op code, DataRef x, Type type) {
        auto const channels = type == Type::data ? Type::channel : Type::out_channel;
        for (auto const of : {Type::scalar, channels})
            for (auto const p : within(of))
                if (!does_nothing(code, space_.term(p))) put({code, x, no_data, p});
    }
    /// x + 0, x * 1, x / 1, and x * 0, which is 0.
    [[nodiscard]] static bool does_nothing(Op code, Term const& with) {
        if (with.op != TermOp::number) return false;
        return with.numerator == 0 || (code != Op::add && with.numerator == with.denominator);
    }
    /// Terms that alone are not too many operators.
    [[nodiscard]] std::span<TermId const> within(Type type) const {
        auto const& all = space_.of_type(type);
        auto const most = budget_.ops - graph_.count - 1;
        auto const end = std::ranges::find_if(all, [&](TermId id) { return space_.term(id).ops > most; });
        return {all.begin(), end};
    }
    void put(GraphOp const& op) {
        auto reads = reads_;
        for (auto const term : {op.p, op.q})
            if (term != no_term) reads |= space_.reads(term);
        if (!space_.are_first(reads)) return; // with other names it is smaller
        auto child = graph_;
        child.push(op);
        if (child.count <= budget_.data_ops && child.count + child.term_ops(space_) <= budget_.ops) visit_(child);
    }

    Graph const& graph_;
    Space const& space_;
    Budget budget_;
    std::function<void(Graph const&)> const& visit_;
    std::vector<DataRef> data_;
    bool second_input_ = false; ///< x and y are both new
    std::uint32_t reads_ = 0;   ///< inputs among the terms
};

} // namespace

void for_each_extension(Graph const& graph, Space const& space, Budget budget,
                        std::function<void(Graph const&)> const& visit) {
    Extending(graph, space, budget, visit).run();
}

} // namespace espalier::problems::substitution::affine
