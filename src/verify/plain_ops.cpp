#include "plain_ops.hpp"

#include "function_tag.hpp"

#include "espalier/base/error.hpp"
#include "espalier/program/meaning_evaluate.hpp"
#include "espalier/verify/constants.hpp"

#include <algorithm>
#include <optional>

namespace espalier::verify {
namespace {

using field::Element;
using field::Scalar;
using program::Attributes;
using program::OpCode;
using program::OpInfo;

/// Both finite fields at once. A square root takes the tag of the op sqrt wherever it stands.
struct FieldDomain {
    using Value = Element;

    field::Model const& model;
    Attributes const& attributes; ///< of the op that is evaluated
    bool with_q = false;
    OpStatus status = OpStatus::done;

    [[nodiscard]] static Element zero() { return {}; }
    [[nodiscard]] static Element whole(std::int64_t n) {
        auto const number = static_cast<std::uint64_t>(n);
        return {field::Fp::reduce(number), field::Fq::reduce(number)};
    }
    Element apply(OpCode op, Element a, Element b) {
        auto const& row = program::info(op);
        bool zero_divisor = false;
        if (row.inputs == 1) b = has_constant(row) ? constant_of(row, attributes) : Element{};
        auto const out =
            field::apply(row.field.scalar, model, function_tag(row, attributes), a, b, with_q, zero_divisor);
        if (zero_divisor) status = OpStatus::zero_divisor;
        return out;
    }
    [[nodiscard]] static Element number(double number) { return constant(number); }
};

bool all_have_q(std::span<PlainTensor const* const> operands) {
    return std::ranges::all_of(operands, [](auto const* tensor) { return tensor->has_q; });
}

/// Of the for-loop: an accumulator has as many tiles of each operand.
std::size_t steps_of(OpInfo const& row, PlainOps::Operands const& operands) {
    return is_accumulator(row) ? operands.size() / static_cast<std::size_t>(row.inputs) : 1;
}

program::Meaning meaning_of(OpInfo const& row, Attributes const& attributes, PlainOps::Operands const& operands,
                            int output) {
    std::vector<program::Shape> shapes;
    auto const steps = steps_of(row, operands);
    for (std::size_t i = 0; i < operands.size(); i += steps) shapes.push_back(operands[i]->shape);
    auto const size = attributes.whole(program::AttributeName::size, 0);
    return meaning_of(row, {shapes, attributes, size, static_cast<std::int64_t>(steps), output});
}

} // namespace

PlainTensor PlainOps::evaluate(OpInfo const& row, Attributes const& attributes, Operands const& operands, int output) {
    auto const steps = steps_of(row, operands), count = operands.size() / steps;
    auto const has_exponential = program::has_exponential(row);
    if (has_exponential && !all_have_q(std::span(operands).subspan(program::first_exponent(row) * steps)))
        status_ = OpStatus::no_exponent;
    auto const has_q = !has_exponential && all_have_q(operands);
    FieldDomain domain{.model = model_, .attributes = attributes, .with_q = has_q || row.field.reduction.is_rescaled};
    std::vector<PlainTensor> made;
    auto const fetch = [&](std::size_t source, std::int64_t step,
                           std::span<std::int64_t const> at) -> std::optional<Element> {
        auto const& from =
            source >= count ? made[source - count] : *operands[source * steps + static_cast<std::size_t>(step)];
        Index index{};
        std::ranges::copy(at, index.begin());
        for (int d = 0; d < from.shape.rank(); ++d) // the last tile of a loop may be smaller than the first
            if (at[static_cast<std::size_t>(d)] >= from.shape[d]) return std::nullopt;
        return from.values[flat(from.shape, index)];
    };
    program::NestEvaluator evaluator(domain, fetch);
    for (auto const& nest : meaning_of(row, attributes, operands, output).nests)
        made.push_back({nest.kept, has_q, evaluator.run(nest)});
    if (status_ == OpStatus::done) status_ = domain.status;
    return std::move(made.back());
}

} // namespace espalier::verify
