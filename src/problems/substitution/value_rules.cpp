#include "operator_rules.hpp"

#include "espalier/base/rng.hpp"
#include "espalier/field/mersenne.hpp"

#include <algorithm>

/// Values of the operators, element by element, over a finite field.
namespace espalier::problems::substitution::rules {
namespace {

using F = field::Mersenne61;

/// The order that maxima are taken in: 0 comes first, constants of the space and their sums have their own order, and
/// everything else stands anywhere, also below them.
std::uint64_t rank_of(std::uint64_t value) {
    constexpr std::uint64_t most_constant = 1u << 20, middle = std::uint64_t{1} << 63;
    if (value == 0) return 0;
    return value < most_constant ? middle + value : base::Rng::mix(value) | 1;
}
std::uint64_t larger(std::uint64_t a, std::uint64_t b) { return rank_of(a) < rank_of(b) ? b : a; }

/// Around a place of an image, as far as the image goes: `take(value)` for every value of a window.
template <class Take>
void for_window(std::uint64_t const* image, int height, int width, int row, int column, Take const& take) {
    for (int y = std::max(row - 1, 0); y <= std::min(row + 1, height - 1); ++y)
        for (int x = std::max(column - 1, 0); x <= std::min(column + 1, width - 1); ++x) take(image[y * width + x]);
}

/// How often, how many rows of a stack, and how long each is, for an axis.
struct Runs {
    int outer = 1, inner = 1;
};
Runs runs_of(Layout const& layout, int axis) {
    Runs out;
    for (int i = 0; i < layout.rank; ++i) (i < axis ? out.outer : out.inner) *= i == axis ? 1 : layout.dim(i);
    return out;
}

/// One output of a convolution.
class Convolution {
public:
    Convolution(Operands const& in, Kernel const& kernel)
        : x_(*in.a), w_(*in.b), kernel_(kernel), height_(x_.layout.dim(2)), width_(x_.layout.dim(3)),
          depth_(w_.layout.dim(1)), of_group_(w_.layout.dim(0) / (x_.layout.dim(1) / depth_)) {}

    [[nodiscard]] std::uint64_t at(int image, int channel, int row, int column) const {
        std::uint64_t sum = 0;
        auto const first = image * x_.layout.dim(1) + channel / of_group_ * depth_;
        for (int c = 0; c < depth_; ++c)
            sum = F::add(sum, plane(&x_.values[index((first + c) * height_ * width_)],
                                    &w_.values[index((channel * depth_ + c) * kernel_.height * kernel_.width)], row,
                                    column));
        return sum;
    }

private:
    static std::size_t index(int i) { return static_cast<std::size_t>(i); }
    [[nodiscard]] std::uint64_t plane(std::uint64_t const* x, std::uint64_t const* w, int row, int column) const {
        std::uint64_t sum = 0;
        auto const top = row - (kernel_.height - 1) / 2, left = column - (kernel_.width - 1) / 2;
        for (int i = std::max(0, -top); i < std::min(kernel_.height, height_ - top); ++i)
            for (int j = std::max(0, -left); j < std::min(kernel_.width, width_ - left); ++j)
                sum = F::add(sum, F::mul(x[(top + i) * width_ + left + j], w[i * kernel_.width + j]));
        return sum;
    }

    Tensor const& x_;
    Tensor const& w_;
    Kernel kernel_;
    int height_, width_, depth_, of_group_;
};

} // namespace

void matmul_values(Operator, Operands const& in, Nonlinear const&, Layouts const& layouts, Outputs& out) {
    auto const rows = layouts.of[0].dim(0), columns = layouts.of[0].dim(1), inner = in.a->layout.dim(1);
    auto* to = out.of[0].data();
    for (int i = 0; i < rows; ++i)
        for (int j = 0; j < columns; ++j) {
            std::uint64_t sum = 0;
            for (int k = 0; k < inner; ++k)
                sum = F::add(sum, F::mul(in.a->values[static_cast<std::size_t>(i * inner + k)],
                                         in.b->values[static_cast<std::size_t>(k * columns + j)]));
            *to++ = sum;
        }
}

void pointwise_values(Operator code, Operands const& in, Nonlinear const&, Layouts const&, Outputs& out) {
    auto const function = code == Operator::add ? F::add : F::mul;
    std::ranges::transform(in.a->values, in.b->values, out.of[0].begin(), function);
}

void scale_values(Operator, Operands const& in, Nonlinear const&, Layouts const&, Outputs& out) {
    auto const by = in.b->values.front();
    std::ranges::transform(in.a->values, out.of[0].begin(), [by](std::uint64_t x) { return F::mul(x, by); });
}

void relu_values(Operator, Operands const& in, Nonlinear const& nonlinear, Layouts const&, Outputs& out) {
    std::ranges::transform(in.a->values, out.of[0].begin(), nonlinear);
}

void conv_values(Operator code, Operands const& in, Nonlinear const& nonlinear, Layouts const& layouts, Outputs& out) {
    auto const kernel = kernel_of(code);
    Convolution const convolution(in, kernel);
    auto const& layout = layouts.of[0];
    auto* to = out.of[0].data();
    for (int n = 0; n < layout.dim(0); ++n)
        for (int c = 0; c < layout.dim(1); ++c)
            for (int y = 0; y < layout.dim(2); ++y)
                for (int x = 0; x < layout.dim(3); ++x) {
                    auto const sum = convolution.at(n, c, y, x);
                    *to++ = kernel.has_relu ? nonlinear(sum) : sum;
                }
}

void pool_values(Operator code, Operands const& in, Nonlinear const&, Layouts const& layouts, Outputs& out) {
    auto const& layout = layouts.of[0];
    auto const height = layout.dim(2), width = layout.dim(3);
    auto* to = out.of[0].data();
    for (int plane = 0; plane < layout.dim(0) * layout.dim(1); ++plane)
        for (int y = 0; y < height; ++y)
            for (int x = 0; x < width; ++x) {
                std::uint64_t all = 0;
                for_window(in.a->values.data() + plane * height * width, height, width, y, x, [&](std::uint64_t value) {
                    all = code == Operator::average_pool ? F::add(all, value) : larger(all, value);
                });
                *to++ = all;
            }
}

void enlarged_values(Operator, Operands const& in, Nonlinear const&, Layouts const&, Outputs& out) {
    auto const& x = in.a->layout;
    auto const height = x.dim(2), width = x.dim(3);
    std::ranges::fill(out.of[0], 0);
    for (int plane = 0; plane < x.dim(0) * x.dim(1); ++plane)
        for (int i = 0; i < height; ++i)
            for (int j = 0; j < width; ++j)
                out.of[0][static_cast<std::size_t>((plane * 3 + i + (3 - height) / 2) * 3 + j + (3 - width) / 2)] =
                    in.a->values[static_cast<std::size_t>((plane * height + i) * width + j)];
}

void concat_values(Operator code, Operands const& in, Nonlinear const&, Layouts const&, Outputs& out) {
    auto const axis = info(code).concat_axis;
    auto const runs = runs_of(in.a->layout, axis);
    auto const of_a = in.a->layout.dim(axis) * runs.inner, of_b = in.b->layout.dim(axis) * runs.inner;
    auto to = out.of[0].begin();
    for (int i = 0; i < runs.outer; ++i) {
        to = std::copy_n(in.a->values.begin() + i * of_a, of_a, to);
        to = std::copy_n(in.b->values.begin() + i * of_b, of_b, to);
    }
}

void split_values(Operator code, Operands const& in, Nonlinear const&, Layouts const& layouts, Outputs& out) {
    auto const axis = code == Operator::split_0 ? 0 : 1;
    auto const runs = runs_of(in.a->layout, axis);
    std::array const lengths{layouts.of[0].dim(axis) * runs.inner, layouts.of[1].dim(axis) * runs.inner};
    std::array to{out.of[0].begin(), out.of[1].begin()};
    auto from = in.a->values.begin();
    for (int i = 0; i < runs.outer; ++i)
        for (std::size_t part = 0; part < 2; ++part) {
            to[part] = std::copy_n(from, lengths[part], to[part]);
            from += lengths[part];
        }
}

void transposed_values(Operator, Operands const& in, Nonlinear const&, Layouts const&, Outputs& out) {
    auto const rows = in.a->layout.dim(0), columns = in.a->layout.dim(1);
    for (int i = 0; i < rows; ++i)
        for (int j = 0; j < columns; ++j)
            out.of[0][static_cast<std::size_t>(j * rows + i)] = in.a->values[static_cast<std::size_t>(i * columns + j)];
}

void constant_values(Operator code, Operands const& in, Nonlinear const&, Layouts const&, Outputs& out) {
    auto const channels = static_cast<std::size_t>(in.sizes.channels);
    auto const has_identity = code == Operator::identity_kernel || code == Operator::identity_matrix;
    std::ranges::fill(out.of[0], has_identity ? 0u : 1u);
    for (std::size_t i = 0; i < channels && has_identity; ++i) {
        auto const at = i * channels + i;
        out.of[0][code == Operator::identity_kernel ? at * 9 + 4 : at] = 1;
    }
}

} // namespace espalier::problems::substitution::rules
