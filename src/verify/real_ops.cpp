#include "real_ops.hpp"

namespace espalier::verify::real {

using program::Op;

Real dot(Real const* a, Real const* b, std::size_t count, std::size_t stride) {
    double sum = 0, terms = 0, error = 0;
    for (std::size_t k = 0; k < count; ++k) {
        auto const &x = a[k], &y = b[k * stride];
        auto const term = x.value * y.value;
        sum += term;
        terms += std::abs(term);
        error += std::abs(x.value) * y.error + std::abs(y.value) * x.error;
    }
    return {sum, error + static_cast<double>(count + 1) * program::rounding_unit * terms};
}

void normalise_row(Op const& op, std::vector<Real>& row) {
    Real const count{static_cast<double>(row.size()), 0};
    Real mean, mean_square;
    if (program::info(op.code).field.norm == program::Norm::layer) {
        for (auto const x : row) mean = mean + x;
        mean = mean / count;
    }
    for (auto& x : row) x = x - mean;
    for (auto const x : row) mean_square = mean_square + x * x;
    auto const deviation = square_root(mean_square / count);
    for (auto& x : row) x = x / deviation;
}

} // namespace espalier::verify::real
