#pragma once

#include "espalier/problems/substitution/operators.hpp"

/// Operands, results and values of the operators: rows of the table share these rules.
namespace espalier::problems::substitution::rules {

struct Rule {
    std::optional<Layouts> (*layout)(Operator, Operands const&);
    void (*values)(Operator, Operands const&, Nonlinear const&, Layouts const&, Outputs&);
};

[[nodiscard]] std::optional<Layouts> matmul_layout(Operator, Operands const&);
[[nodiscard]] std::optional<Layouts> pointwise_layout(Operator, Operands const&);
[[nodiscard]] std::optional<Layouts> scale_layout(Operator, Operands const&);
[[nodiscard]] std::optional<Layouts> same_layout(Operator, Operands const&);
[[nodiscard]] std::optional<Layouts> conv_layout(Operator, Operands const&);
[[nodiscard]] std::optional<Layouts> pool_layout(Operator, Operands const&);
[[nodiscard]] std::optional<Layouts> enlarged_layout(Operator, Operands const&);
[[nodiscard]] std::optional<Layouts> concat_layout(Operator, Operands const&);
[[nodiscard]] std::optional<Layouts> split_layout(Operator, Operands const&);
[[nodiscard]] std::optional<Layouts> transposed_layout(Operator, Operands const&);
[[nodiscard]] std::optional<Layouts> constant_layout(Operator, Operands const&);

void matmul_values(Operator, Operands const&, Nonlinear const&, Layouts const&, Outputs&);
void pointwise_values(Operator, Operands const&, Nonlinear const&, Layouts const&, Outputs&);
void scale_values(Operator, Operands const&, Nonlinear const&, Layouts const&, Outputs&);
void relu_values(Operator, Operands const&, Nonlinear const&, Layouts const&, Outputs&);
void conv_values(Operator, Operands const&, Nonlinear const&, Layouts const&, Outputs&);
void pool_values(Operator, Operands const&, Nonlinear const&, Layouts const&, Outputs&);
void enlarged_values(Operator, Operands const&, Nonlinear const&, Layouts const&, Outputs&);
void concat_values(Operator, Operands const&, Nonlinear const&, Layouts const&, Outputs&);
void split_values(Operator, Operands const&, Nonlinear const&, Layouts const&, Outputs&);
void transposed_values(Operator, Operands const&, Nonlinear const&, Layouts const&, Outputs&);
void constant_values(Operator, Operands const&, Nonlinear const&, Layouts const&, Outputs&);

inline constexpr Rule matmul{matmul_layout, matmul_values};
inline constexpr Rule pointwise{pointwise_layout, pointwise_values};
inline constexpr Rule scale{scale_layout, scale_values};
inline constexpr Rule relu{same_layout, relu_values};
inline constexpr Rule conv{conv_layout, conv_values};
inline constexpr Rule pool{pool_layout, pool_values};
inline constexpr Rule enlarge{enlarged_layout, enlarged_values};
inline constexpr Rule concat{concat_layout, concat_values};
inline constexpr Rule split{split_layout, split_values};
inline constexpr Rule transpose{transposed_layout, transposed_values};
inline constexpr Rule constant{constant_layout, constant_values};

/// Height and width of a convolution's kernel.
struct Kernel {
    int height = 3, width = 3;
    bool has_relu = false;
};
[[nodiscard]] Kernel kernel_of(Operator code);

} // namespace espalier::problems::substitution::rules
