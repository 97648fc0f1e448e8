#include "plain_ops.hpp"

#include "function_tag.hpp"

#include "espalier/base/error.hpp"
#include "espalier/program/meaning_evaluate.hpp"

#include <algorithm>

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
        auto const out = field::apply(row.field.scalar, model, function_tag(row, attributes), a,
                                      row.inputs == 1 ? Element{} : b, with_q, zero_divisor);
        if (zero_divisor) status = OpStatus::zero_divisor;
        return out;
    }
    /// Finite fields have no order.
    [[nodiscard]] static Element larger(Element, Element) {
        throw base::SystemError("a maximum was to be taken over a finite field (a bug): please report the program");
    }
};

bool all_have_q(PlainOps::Operands const& operands) {
    return std::ranges::all_of(operands, [](auto const* tensor) { return tensor->has_q; });
}

program::Meaning meaning_of(OpInfo const& row, Attributes const& attributes, PlainOps::Operands const& operands,
                            int output) {
    std::vector<program::Shape> shapes;
    auto const count = is_accumulator(row) ? 1 : operands.size();
    for (std::size_t i = 0; i < count; ++i) shapes.push_back(operands[i]->shape);
    auto const size = attributes.whole(program::AttributeName::size, 0);
    return meaning_of(row, {shapes, attributes, size, static_cast<std::int64_t>(operands.size()), output});
}

} // namespace

PlainTensor PlainOps::evaluate(OpInfo const& row, Attributes const& attributes, Operands const& operands, int output) {
    auto const is_exp = row.field.scalar == Scalar::exp;
    if (is_exp && !operands[0]->has_q) status_ = OpStatus::no_exponent;
    FieldDomain domain{.model = model_, .attributes = attributes, .with_q = !is_exp && all_have_q(operands)};
    std::vector<PlainTensor> made;
    auto const count = is_accumulator(row) ? 1 : operands.size();
    auto const fetch = [&](std::size_t source, std::int64_t step, std::span<std::int64_t const> at) {
        auto const& from = source >= count ? made[source - count] : *operands[source + static_cast<std::size_t>(step)];
        Index index{};
        std::ranges::copy(at, index.begin());
        return from.values[flat(from.shape, index)];
    };
    program::NestEvaluator evaluator(domain, fetch);
    for (auto const& nest : meaning_of(row, attributes, operands, output).nests)
        made.push_back({nest.kept, domain.with_q, evaluator.run(nest)});
    if (status_ == OpStatus::done) status_ = domain.status;
    return std::move(made.back());
}

} // namespace espalier::verify
