#include "free_axes.hpp"

#include "espalier/base/error.hpp"
#include "espalier/program/meaning.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

namespace espalier::codegen {
namespace {

using field::Scalar;
using program::Graph;
using program::Nest;
using program::OpId;
using program::Reducer;
using program::ScalarNode;
using program::TensorId;

/// How a tile depends on the parts that an axis makes.
struct Dependence {
    enum class Kind : std::uint8_t {
        same,  ///< it is the same for each, however many there are
        along, ///< the parts of one tensor along dimension `dim`, whose elements do not depend on where it is cut
        part,  ///< reduced by `reducer` over the parts, it would be such a tensor reduced
        unknown,
    };
    Kind kind = Kind::same;
    int dim = 0;
    Reducer reducer = Reducer::none;
    int tile = -1;            ///< of a part that is a maximum: which tile it is
    int exponent = -1;        ///< times exp(that tile), which is a maximum over the part, it would be what `kind` says
    bool is_in_steps = false; ///< along: the loop cuts each part once more, along the same dimension
};
using Kind = Dependence::Kind;
constexpr Dependence unknown_way{.kind = Kind::unknown};

/// What is known about a scalar in the body of a nest.
struct Value {
    bool is_known = true;
    bool is_cut = false;             ///< a different one for each element along the cut
    Reducer reducer = Reducer::none; ///< of a part
    int tile = -1, exponent = -1;    ///< as above
    bool is_difference = false;      ///< something less the tile `exponent`

    [[nodiscard]] bool is_plain() const {
        return is_known && reducer == Reducer::none && exponent < 0 && !is_difference;
    }
};

Value less_maximum(Value const& a, Value const& b) {
    auto const is_one = a.is_plain() && b.is_known && b.reducer == Reducer::maximum && b.tile >= 0;
    return {.is_known = is_one, .is_cut = a.is_cut, .exponent = b.tile, .is_difference = true};
}
Value exponential(Value x) {
    x.is_known = x.is_known && x.is_difference;
    x.is_difference = false;
    return x;
}
/// For two that depend on the parts in the same way.
Value total(Value a, Value const& b) {
    a.is_known = a.is_known && b.is_known && a.reducer == b.reducer && a.exponent == b.exponent && !a.is_difference &&
                 !b.is_difference && a.reducer != Reducer::maximum && a.reducer != Reducer::minimum;
    a.is_cut = a.is_cut || b.is_cut;
    a.tile = -1;
    return a;
}
/// For one that depends on the parts, and one that does not.
Value multiple(Value a, Value const& b) {
    a.is_known = a.is_known && b.is_plain() && !a.is_difference && (a.reducer == Reducer::none || !b.is_cut) &&
                 a.reducer != Reducer::maximum && a.reducer != Reducer::minimum;
    a.is_cut = a.is_cut || b.is_cut;
    a.tile = -1;
    return a;
}
Value applied(Scalar scalar, Value const& a, Value const& b) {
    if (a.is_plain() && b.is_plain()) return {.is_cut = a.is_cut || b.is_cut};
    switch (scalar) {
    case Scalar::exp:
        return exponential(a);
    case Scalar::exp_sub:
        return exponential(less_maximum(a, b));
    case Scalar::sub:
        return b.reducer == Reducer::maximum ? less_maximum(a, b) : total(a, b);
    case Scalar::add:
        return total(a, b);
    case Scalar::mul:
        return a.is_plain() ? multiple(b, a) : multiple(a, b);
    case Scalar::div:
        return multiple(a, b);
    case Scalar::scale:
        return multiple(a, {});
    default:
        return {.is_known = false};
    }
}

/// One nest, from what is known about its operands.
class NestRule {
public:
    NestRule(Nest const& nest, std::vector<Dependence> const& sources) : nest_(nest), sources_(sources) {}

    [[nodiscard]] Dependence result() {
        if (!find_cut()) return unknown_way;
        auto const value = body();
        if (!value.is_known || value.is_difference || !is_reduced(value)) return unknown_way;
        if (cut_ && (!value.is_cut || value.reducer != Reducer::none))
            return unknown_way; // as many terms as a part has
        auto const is_along = cut_ && *cut_ < static_cast<std::size_t>(nest_.kept.rank());
        Dependence out{.reducer = cut_ && !is_along ? nest_.reducer : value.reducer, .exponent = value.exponent};
        if (!nest_.epilogue.empty() && (out.reducer != Reducer::none || out.exponent >= 0)) return unknown_way;
        out.kind = is_along ? Kind::along : out.reducer != Reducer::none ? Kind::part : Kind::same;
        out.dim = is_along ? static_cast<int>(*cut_) : 0;
        out.is_in_steps = is_along && std::ranges::any_of(nest_.reads, [&](program::Read const& read) {
                              return sources_[read.source].is_in_steps;
                          });
        return out;
    }

private:
    /// The one loop that goes along the cut, from end to end of a tile; nothing else goes with it.
    bool find_cut() {
        for (auto const& read : nest_.reads) {
            auto const& source = sources_[read.source];
            if (source.kind == Kind::unknown) return false;
            if (source.kind != Kind::along) continue;
            auto const& position = read.index[source.dim];
            if (position.digits.size() != 1 || position.offset != 0) return false;
            auto const& digit = position.digits[0];
            auto const size = read.shape[source.dim];
            if (digit.stride != 1 || digit.below != 1 || digit.size != size || nest_.loop_size(digit.loop) != size)
                return false;
            if (cut_ && *cut_ != digit.loop) return false;
            cut_ = digit.loop;
        }
        return std::ranges::all_of(nest_.reads, [&](program::Read const& read) {
            auto const& source = sources_[read.source];
            for (int d = 0; d < read.index.rank(); ++d)
                for (auto const& digit : read.index[d].digits)
                    if (cut_ && digit.loop == *cut_ && !(source.kind == Kind::along && source.dim == d)) return false;
            return true;
        });
    }
    [[nodiscard]] Value read(std::size_t i) const {
        auto const& source = sources_[nest_.reads[i].source];
        return {.is_cut = source.kind == Kind::along,
                .reducer = source.kind == Kind::part ? source.reducer : Reducer::none,
                .tile = source.tile,
                .exponent = source.exponent};
    }
    [[nodiscard]] Value body() const {
        std::vector<Value> values;
        for (auto const& node : nest_.body)
            values.push_back(node.kind == ScalarNode::Kind::read ? read(node.read)
                             : node.kind == ScalarNode::Kind::apply
                                 ? applied(program::info(node.op).field.scalar, values[node.a], values[node.b])
                                 : Value{});
        return values.back();
    }
    /// Sums of sums, maxima of maxima.
    [[nodiscard]] bool is_reduced(Value const& value) const {
        if (nest_.reducer == Reducer::none) return true;
        if (value.reducer != Reducer::none && value.reducer != nest_.reducer) return false;
        return value.exponent < 0 || nest_.reducer == Reducer::sum;
    }

    Nest const& nest_;
    std::vector<Dependence> const& sources_;
    std::optional<std::size_t> cut_;
};

class AxisRule {
public:
    AxisRule(Graph block, std::size_t axis)
        : block_(std::move(block)), axis_(axis), tensors_(program::infer(block_)), known_(tensors_.size()) {}

    [[nodiscard]] bool is_free() {
        for (std::size_t i = 0; i < block_.inputs.size(); ++i)
            known_[TensorId{static_cast<int>(i)}] = input(block_.schedule.inputs[i]);
        for (auto const id : tensors_.ids())
            if (tensors_[id].maker != program::no_op) known_[id] = made(id);
        return std::ranges::all_of(block_.outputs, [&](TensorId id) { return is_output(known_[id]); });
    }

private:
    [[nodiscard]] bool is_loop() const { return axis_ == 3; }
    static bool is_shared(std::array<int, 3> const& dims, int dim) { return std::ranges::count(dims, dim) > 1; }
    /// Where several axes of the grid cut one dimension, the parts of one of them do not follow one another.
    [[nodiscard]] Dependence input(program::Partition const& cut) const {
        auto const dim = is_loop() ? cut.loop : cut.grid[axis_];
        if (dim < 0) return {};
        if (!is_loop() && is_shared(cut.grid, dim)) return unknown_way;
        return {.kind = Kind::along, .dim = dim, .is_in_steps = !is_loop() && cut.loop == dim};
    }
    /// Parts are joined along the dimension that was cut.
    [[nodiscard]] bool is_output(Dependence const& it) const {
        if (it.exponent >= 0) return false;
        if (is_loop()) return it.kind == Kind::same;
        auto const joined = block_.schedule.output[axis_];
        if (joined < 0) return it.kind == Kind::same;
        return it.kind == Kind::along && it.dim == joined && !is_shared(block_.schedule.output, joined);
    }
    [[nodiscard]] Dependence made(TensorId id) const {
        auto const& op = block_.ops[tensors_[id].maker];
        auto const& row = program::info(op.code);
        std::vector<Dependence> sources;
        std::vector<program::Shape> shapes;
        for (auto const operand : op.inputs) {
            sources.push_back(known_[operand]);
            shapes.push_back(tensors_[operand].shape);
        }
        auto const is_any = [&](Kind kind) { return std::ranges::count(sources, kind, &Dependence::kind) > 0; };
        if (op.code == program::OpCode::graph || is_any(Kind::unknown)) return unknown_way;
        if (is_view(row) && is_any(Kind::along)) return unknown_way; // its sizes are those of the tile
        if (row.field.terms == 2) return of_terms(sources, shapes);
        auto const size = op.attributes.whole(program::AttributeName::size, 0);
        auto const meaning = program::meaning_of(row, {shapes, op.attributes, size, block_.schedule.loop});
        auto out = is_loop() && is_accumulator(row) ? (row.field.reduction.is_rescaled ? rescaled(op, meaning, sources)
                                                                                       : accumulated(meaning, sources))
                                                    : of_nests(meaning, sources);
        if (is_accumulator(row) && out.is_in_steps) return unknown_way; // parts of parts, element by element
        if (out.kind == Kind::part) out.tile = id.value;
        return out;
    }
    static Dependence of_nests(program::Meaning const& meaning, std::vector<Dependence>& sources) {
        for (auto const& nest : meaning.nests) sources.push_back(NestRule(nest, sources).result());
        return sources.back();
    }
    /// a c + b d, as two products.
    [[nodiscard]] Dependence of_terms(std::vector<Dependence> const& in,
                                      std::vector<program::Shape> const& shapes) const {
        auto const product = [&](std::size_t a, std::size_t b) {
            std::vector const operands{shapes[a], shapes[b]};
            std::vector sources{in[a], in[b]};
            program::Attributes const none;
            return of_nests(program::meaning_of(program::info(program::OpCode::matmul), {operands, none, 0, 1}),
                            sources);
        };
        auto const first = product(0, 2), second = product(1, 3);
        auto const is_equal = first.kind == second.kind && first.dim == second.dim && first.reducer == second.reducer &&
                              first.exponent == second.exponent;
        return is_equal ? first : unknown_way;
    }
    /// Over all parts: what they were reduced to, or the elements of all of them, whose number is known.
    static Dependence accumulated(program::Meaning const& meaning, std::vector<Dependence> const& sources) {
        auto nest = meaning.nests.front();
        auto const has_epilogue = !nest.epilogue.empty();
        nest.epilogue = {};
        auto const found = NestRule(nest, sources).result();
        if (found.exponent >= 0) return unknown_way;
        if (found.kind == Kind::same && nest.reducer != Reducer::sum) return found;
        if (found.kind != Kind::part || found.reducer != nest.reducer) return unknown_way;
        return has_epilogue && sources.front().kind == Kind::part ? unknown_way : Dependence{};
    }
    /// x exp(m - M), where x has exp(-m) already.
    [[nodiscard]] Dependence rescaled(program::Op const& op, program::Meaning const& meaning,
                                      std::vector<Dependence> const& sources) const {
        auto const &x = sources[0], &m = sources[1];
        auto const is_scaled =
            m.kind == Kind::part && m.reducer == Reducer::maximum && x.exponent == op.inputs[1].value;
        if (!is_scaled) return unknown_way;
        if (x.kind == Kind::part) return x.reducer == Reducer::sum ? Dependence{} : unknown_way;
        auto const& position = meaning.nests[1].reads[0].index[x.dim];
        auto const is_summed = x.kind == Kind::along && position.digits.size() == 1 &&
                               position.digits[0].loop >= static_cast<std::size_t>(meaning.nests[1].kept.rank());
        return is_summed ? Dependence{} : unknown_way;
    }

    Graph block_;
    std::size_t axis_;
    program::TensorInfos tensors_;
    base::IndexedVector<TensorId, Dependence> known_;
};

/// With one part along an axis: tiles of one element look as if they were broadcast, whole tensors do not.
Graph in_one_part(Graph block, std::size_t axis) {
    auto& schedule = block.schedule;
    auto& parts = axis == 3 ? schedule.loop : schedule.grid[axis];
    for (std::size_t i = 0; i < block.inputs.size(); ++i) {
        auto& cut = schedule.inputs[i];
        auto const dim = axis == 3 ? cut.loop : cut.grid[axis];
        if (dim >= 0) block.inputs[i].shape[dim] *= parts;
        cut.last = {};
    }
    parts = 1;
    return block;
}

} // namespace

std::array<bool, 4> free_axes(Graph const& block) {
    std::array<bool, 4> out{};
    for (std::size_t axis = 0; axis < out.size(); ++axis) {
        try {
            out[axis] = AxisRule(in_one_part(block, axis), axis).is_free();
        } catch (base::InputError const&) { // only parts fit
        }
    }
    return out;
}

} // namespace espalier::codegen
