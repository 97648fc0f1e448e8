#pragma once

#include "call.hpp"
#include "formula.hpp"

/// The rules of the ops, by what they are like; the table says which op has which.
namespace espalier::model::rules {

/// Value by value, broadcasting: `formula` is over the reads of all operands, in their order.
[[nodiscard]] Definition pointwise(Call const& call, Formula const& formula);
/// The same; the result is of another element than the operands.
[[nodiscard]] Definition pointwise_as(Call const& call, Element out, Formula const& formula);

template <Function function>
Definition function_of_one(Call const& call) {
    return pointwise(call, apply(function, Formula::read(0)));
}
template <Function function>
Definition function_of_two(Call const& call) {
    return pointwise(call, Formula::apply(function, Formula::read(0), Formula::read(1)));
}
/// Of any number of operands, from the left.
template <Function function>
Definition function_of_many(Call const& call) {
    auto out = Formula::read(0);
    for (std::size_t i = 1; i < call.inputs(); ++i) out = Formula::apply(function, out, Formula::read(i));
    return pointwise(call, out);
}
template <Function function>
Definition test_of_two(Call const& call) {
    return pointwise_as(call, Element::boolean, Formula::apply(function, Formula::read(0), Formula::read(1)));
}
Definition greater(Call const& call);
Definition less_or_equal(Call const& call);
Definition greater_or_equal(Call const& call);
Definition exclusive_or(Call const& call);
Definition mean_of_many(Call const& call);
Definition relu(Call const& call);
Definition leaky_relu(Call const& call);
Definition parametric_relu(Call const& call);
Definition elu(Call const& call);
Definition selu(Call const& call);
Definition sigmoid(Call const& call);
Definition hard_sigmoid(Call const& call);
Definition hard_swish(Call const& call);
Definition softplus(Call const& call);
Definition softsign(Call const& call);
Definition gelu(Call const& call);
Definition clip(Call const& call);
Definition power(Call const& call);
Definition where(Call const& call);
Definition cast(Call const& call);
Definition cast_like(Call const& call);
Definition batch_normalization(Call const& call);

Definition convolution(Call const& call);
Definition max_pool(Call const& call);
Definition average_pool(Call const& call);
Definition global_average_pool(Call const& call);
Definition global_max_pool(Call const& call);
Definition matmul(Call const& call);
Definition gemm(Call const& call);

/// Of single values before they are reduced, and of what was reduced.
struct Reduction {
    Reducer reducer = Reducer::sum;
    Formula before = Formula::read(0);
    Formula after = Formula::reduced();
    bool is_smooth = false; ///< there is no whole number that it gives
};
Definition reduce_sum(Call const& call);
Definition reduce_mean(Call const& call);
Definition reduce_max(Call const& call);
Definition reduce_min(Call const& call);
Definition reduce_product(Call const& call);
Definition reduce_l1(Call const& call);
Definition reduce_l2(Call const& call);
Definition reduce_sum_of_squares(Call const& call);
Definition reduce_log_sum(Call const& call);
Definition reduce_log_sum_exp(Call const& call);
Definition arg_max(Call const& call);
Definition arg_min(Call const& call);
Definition softmax(Call const& call);
Definition log_softmax(Call const& call);
Definition layer_normalization(Call const& call);
Definition instance_normalization(Call const& call);
/// Over these axes, which stay with size 1.
[[nodiscard]] Nest reduction_nest(std::size_t source, Known const& of, std::vector<std::size_t> const& axes,
                                  Reduction const& reduction);

Definition identity(Call const& call);
Definition dropout(Call const& call);
Definition reshape(Call const& call);
Definition flatten(Call const& call);
Definition squeeze(Call const& call);
Definition unsqueeze(Call const& call);
Definition transpose(Call const& call);
Definition expand(Call const& call);
Definition tile(Call const& call);
Definition concat(Call const& call);
Definition split(Call const& call);
Definition slice(Call const& call);
Definition pad(Call const& call);
Definition gather(Call const& call);
Definition constant(Call const& call);
Definition constant_of_shape(Call const& call);
Definition shape(Call const& call);
Definition size(Call const& call);
Definition range(Call const& call);

} // namespace espalier::model::rules
