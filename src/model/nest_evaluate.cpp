#include "nest_evaluate.hpp"

#include "array.hpp"
#include "espalier/base/contract.hpp"
#include "espalier/base/error.hpp"
#include "formula.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace espalier::model {

std::int64_t to_whole(double x);

namespace {

using Kind = ScalarNode::Kind;
constexpr auto infinity = std::numeric_limits<double>::infinity();

/// A value as a real or a whole number; a number of an expression is both.
struct Scalar {
    double real = 0;
    std::int64_t whole = 0;
};
/// Which of the two counts.
enum class Counts : std::uint8_t { both, real, whole };

class PlainEvaluator {
public:
    PlainEvaluator(Nest const& nest, Sources const& sources)
        : nest_(nest), sources_(sources), loops_(nest.loops()), body_(counting(nest.body)),
          epilogue_(counting(nest.epilogue)), values_(std::max(nest.body.size(), nest.epilogue.size())) {}

    [[nodiscard]] Array run(base::StopToken const& stop) {
        Array out{.element = nest_.out.element, .dims = nest_.out.dims, .reals = {}, .wholes = {}, .texts = {}};
        auto const results = element_count(nest_.kept);
        auto const work = std::max<std::int64_t>(1, element_count(nest_.reduced));
        for (std::int64_t n = 0; n < results; ++n) {
            if (n % std::max<std::int64_t>(1, 10000 / work) == 0) stop.check();
            set_loops(0, nest_.kept.size(), n);
            auto const value = result();
            if (is_real(out.element))
                out.reals.push_back(value.real);
            else
                out.wholes.push_back(wrap(out.element, value.whole));
        }
        return out;
    }

private:
    [[nodiscard]] std::vector<Counts> counting(Expression const& expression) const {
        std::vector<Counts> out;
        for (auto const& node : expression) out.push_back(counting(node, out));
        return out;
    }
    [[nodiscard]] Counts counting(ScalarNode const& node, std::vector<Counts> const& before) const {
        if (node.kind == Kind::read)
            return is_real(sources_[nest_.reads[node.index].source]->element) ? Counts::real : Counts::whole;
        if (node.kind == Kind::reduced) return body_.empty() ? Counts::real : body_.back();
        if (node.kind != Kind::apply) return Counts::both;
        auto const& row = info(node.function);
        if (row.is_test || node.function == Function::to_whole) return Counts::whole;
        if (node.function == Function::to_real) return Counts::real;
        auto const own = arguments_of(node, before);
        return own == Counts::both ? Counts::real : own;
    }
    /// What the arguments of a function are; of `choose`, the values that it chooses from.
    [[nodiscard]] static Counts arguments_of(ScalarNode const& node, std::vector<Counts> const& counts) {
        std::size_t const first = node.function == Function::choose ? 1 : 0;
        auto const end = static_cast<std::size_t>(info(node.function).arguments);
        for (auto i = first; i < end; ++i)
            if (counts[node.arguments[i]] != Counts::both) return counts[node.arguments[i]];
        return Counts::both;
    }

    /// The n-th values of loops [from, to), the last one fastest.
    void set_loops(std::size_t from, std::size_t to, std::int64_t n) {
        for (auto i = to; i-- > from; n /= nest_.loop_size(i)) loops_[i] = n % nest_.loop_size(i);
    }
    [[nodiscard]] Scalar result() {
        if (nest_.reducer == Reducer::none) return body().value();
        Scalar reduced = start();
        std::int64_t count = 0;
        auto const values = element_count(nest_.reduced);
        for (std::int64_t n = 0; n < values; ++n) {
            set_loops(nest_.kept.size(), nest_.loops(), n);
            auto const value = body();
            if (!value) continue;
            reduce(*value, count == 0, n, reduced);
            ++count;
        }
        return nest_.epilogue.empty() ? reduced : epilogue(reduced, count);
    }
    /// What nothing is reduced to.
    [[nodiscard]] Scalar start() const {
        if (nest_.reducer == Reducer::product) return {1, 1};
        if (nest_.reducer == Reducer::maximum) return {-infinity, std::numeric_limits<std::int64_t>::min()};
        if (nest_.reducer == Reducer::minimum) return {infinity, std::numeric_limits<std::int64_t>::max()};
        return {};
    }
    void reduce(Scalar value, bool is_first, std::int64_t at, Scalar& reduced) {
        auto const function = nest_.reducer == Reducer::sum       ? Function::add
                              : nest_.reducer == Reducer::product ? Function::mul
                              : nest_.reducer == Reducer::maximum ? Function::maximum
                                                                  : Function::minimum;
        if (nest_.reducer <= Reducer::minimum) {
            reduced = apply(info(function), body_.back(), reduced, value);
            return;
        }
        if (is_first || is_better(value)) {
            best_ = value;
            reduced.whole = at;
        }
    }
    /// Of places: whether this value takes the place of the best so far.
    [[nodiscard]] bool is_better(Scalar value) const {
        auto const is_whole = body_.back() == Counts::whole;
        auto const order = is_whole ? (value.whole > best_.whole) - (value.whole < best_.whole)
                                    : (value.real > best_.real) - (value.real < best_.real);
        switch (nest_.reducer) {
        case Reducer::first_largest:
            return order > 0;
        case Reducer::last_largest:
            return order >= 0;
        case Reducer::first_smallest:
            return order < 0;
        default:
            return order <= 0;
        }
    }

    [[nodiscard]] static Scalar apply(FunctionInfo const& row, Counts counts, Scalar a, Scalar b) {
        if (counts == Counts::whole) {
            ESP_ASSERT(row.whole != nullptr);
            auto const out = row.whole(a.whole, b.whole);
            return {static_cast<double>(out), out};
        }
        ESP_ASSERT(row.real != nullptr);
        auto const out = row.real(a.real, b.real);
        return {out, row.is_test || row.code == Function::to_whole ? to_whole(out) : 0};
    }
    [[nodiscard]] Scalar applied(ScalarNode const& node, std::vector<Counts> const& counts) const {
        auto const argument = [&](std::size_t i) { return values_[node.arguments[i]]; };
        if (node.function == Function::choose) return argument(0).whole != 0 ? argument(1) : argument(2);
        return apply(info(node.function), arguments_of(node, counts), argument(0), argument(1));
    }
    /// Nothing where a read says to skip.
    [[nodiscard]] std::optional<Scalar> body() {
        for (std::size_t i = 0; i < nest_.body.size(); ++i) {
            auto const& node = nest_.body[i];
            auto const value = node.kind == Kind::read ? read(node.index) : std::optional(leaf(node, body_));
            if (!value) return std::nullopt;
            values_[i] = *value;
        }
        return values_[nest_.body.size() - 1];
    }
    [[nodiscard]] Scalar epilogue(Scalar reduced, std::int64_t count) {
        for (std::size_t i = 0; i < nest_.epilogue.size(); ++i) {
            auto const& node = nest_.epilogue[i];
            if (node.kind == Kind::reduced)
                values_[i] = reduced;
            else if (node.kind == Kind::count)
                values_[i] = {static_cast<double>(count), count};
            else
                values_[i] = node.kind == Kind::read ? read(node.index).value() : leaf(node, epilogue_);
        }
        return values_[nest_.epilogue.size() - 1];
    }
    /// Of a node that is not a read.
    [[nodiscard]] Scalar leaf(ScalarNode const& node, std::vector<Counts> const& counts) const {
        if (node.kind == Kind::apply) return applied(node, counts);
        if (node.kind == Kind::loop) return {static_cast<double>(loops_[node.index]), loops_[node.index]};
        return {node.number, to_whole(node.number)};
    }
    [[nodiscard]] std::optional<Scalar> read(std::size_t number) {
        auto const& from = nest_.reads[number];
        std::int64_t place = 0;
        for (std::size_t d = 0; d < from.shape.size(); ++d) {
            auto const at = position(from.index[d], from.shape[d]);
            if (at < 0 || at >= from.shape[d]) {
                ESP_ASSERT(from.outside != Outside::never);
                if (from.outside == Outside::other) return read(from.other);
                return from.outside == Outside::zero ? std::optional(Scalar{}) : std::nullopt;
            }
            place = place * from.shape[d] + at;
        }
        auto const& source = *sources_[from.source];
        auto const i = static_cast<std::size_t>(place);
        if (!is_real(source.element)) return Scalar{0, source.wholes[i]};
        return Scalar{source.reals[i], 0};
    }
    [[nodiscard]] std::int64_t position(Position const& position, std::int64_t size) {
        auto out = position.offset;
        for (auto const& step : position.steps) out += step.stride * loops_[step.loop];
        if (!position.looked_up) return out;
        auto const found = read(*position.looked_up).value().whole;
        if (found < -size || found >= size)
            throw base::InputError("place {} of a dimension of size {} is looked up (which is not there): change the "
                                   "inputs",
                                   found, size);
        return out + (found < 0 ? found + size : found);
    }

    Nest const& nest_;
    Sources const& sources_;
    std::vector<std::int64_t> loops_;
    std::vector<Counts> body_, epilogue_;
    std::vector<Scalar> values_;
    Scalar best_;
};

} // namespace

Array evaluate_plainly(Nest const& nest, Sources const& sources, base::StopToken const& stop) {
    return PlainEvaluator(nest, sources).run(stop);
}

Array evaluate_nest(Nest const& nest, Sources const& sources, base::StopToken const& stop) {
    if (auto out = evaluate_contraction(nest, sources, stop)) return std::move(*out);
    if (auto out = evaluate_rows(nest, sources, stop)) return std::move(*out);
    return evaluate_plainly(nest, sources, stop);
}

Nest epilogue_nest(Nest const& nest, std::size_t from) {
    Nest out{.out = nest.out, .kept = nest.kept, .reduced = {}, .reads = {}, .body = nest.epilogue, .epilogue = {}};
    for (auto& node : out.body) {
        if (node.kind == Kind::read)
            out.reads.push_back(nest.reads[node.index]);
        else if (node.kind == Kind::reduced || node.kind == Kind::count)
            out.reads.push_back(read_at_loops(from + (node.kind == Kind::count ? 1 : 0), nest.kept));
        else
            continue;
        node.kind = Kind::read;
        node.index = out.reads.size() - 1;
    }
    return out;
}

std::vector<Array> evaluate_definition(Definition const& definition, Node const& node, Sources const& operands,
                                       base::StopToken const& stop) {
    auto sources = operands;
    std::vector<Array> made;
    made.reserve(definition.nests.size());
    for (auto const& nest : definition.nests) {
        made.push_back(evaluate_nest(nest, sources, stop));
        sources.push_back(&made.back());
    }
    std::vector<Array> out(definition.outputs.size());
    for (std::size_t i = 0; i < out.size() && i < node.outputs.size(); ++i) {
        if (node.outputs[i].empty()) continue;
        if (auto const* const nest = std::get_if<std::size_t>(&definition.outputs[i]))
            out[i] = std::move(made[*nest]);
        else
            out[i] = to_array(*std::get<TensorPtr>(definition.outputs[i]));
    }
    return out;
}

} // namespace espalier::model
