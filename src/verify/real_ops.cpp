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

Real root_mean(Real mean_square, program::Attributes const& attributes) {
    auto const* const eps = attributes.find(program::AttributeName::eps);
    return square_root(eps ? mean_square + program::rounded(eps->values.front(), 0) : mean_square);
}

void normalise_row(Op const& op, std::vector<Real>& row) {
    Real const count{static_cast<double>(row.size()), 0};
    Real mean, mean_square;
    auto const norm = program::info(op.code).field.norm;
    if (norm != program::Norm::rms) {
        for (auto const x : row) mean = mean + x;
        mean = mean / count;
    }
    for (auto& x : row) x = x - mean;
    if (norm == program::Norm::center) return;
    for (auto const x : row) mean_square = mean_square + x * x;
    auto const deviation = root_mean(mean_square / count, op.attributes);
    for (auto& x : row) x = x / deviation;
}

} // namespace espalier::verify::real
