#include "espalier/problems/mutation/linear_program.hpp"

#include "espalier/field/mersenne.hpp"

namespace espalier::problems::mutation {

std::vector<Window> const& mutant_windows() {
    static std::vector<Window> const all = [] {
        std::vector<Window> out;
        for (std::int32_t const stride : {1, 2})
            for (std::int32_t const dilation : {1, 2})
                for (std::int32_t const padding : {0, 1, 2}) out.push_back({stride, dilation, padding});
        return out;
    }();
    return all;
}

std::optional<std::int32_t> output_size(std::int32_t image, std::int32_t kernel, Window const& window) {
    auto const room =
        std::int64_t{image} + 2 * std::int64_t{window.padding} - (std::int64_t{window.dilation} * (kernel - 1) + 1);
    if (room < 0) return std::nullopt;
    return static_cast<std::int32_t>(room / window.stride + 1);
}

std::optional<Sizes> LinearProgram::output() const {
    auto const& [a, b] = inputs;
    if (compute == Compute::matmul) return a[1] == b[0] ? std::optional(Sizes{a[0], b[1]}) : std::nullopt;
    auto const h = output_size(a[2], b[2], windows[0]), w = output_size(a[3], b[3], windows[1]);
    if (a[1] != b[1] || !h || !w) return std::nullopt;
    return Sizes{a[0], b[0], *h, *w};
}

std::vector<std::uint64_t> evaluate(LinearProgram const& program, std::span<std::uint64_t const> first,
                                    std::span<std::uint64_t const> second) {
    using Field = field::Mersenne61;
    std::vector<std::uint64_t> out(static_cast<std::size_t>(element_count(program.output().value())));
    for_each_product(program, [&](std::uint32_t element, std::uint32_t a, std::uint32_t b) {
        out[element] = Field::add(out[element], Field::mul(first[a], second[b]));
    });
    return out;
}

} // namespace espalier::problems::mutation
