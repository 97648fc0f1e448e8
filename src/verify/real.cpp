#include "espalier/verify/real.hpp"

#include "real_evaluate.hpp"

#include "espalier/verify/sampling.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

namespace espalier::verify {
namespace {

using namespace real;
using program::Graph;
using enum Inputs::Signs;

/// One sign for all of an input, so that a sum over many products under a square root is sometimes defined; zeros,
/// because cancelling loses them; magnitudes that an exponential can stand and others.
constexpr std::array whole_kinds{Inputs{.signs = both, .exponent = 0, .spread = 2},
                                 Inputs{.signs = positive, .exponent = 0, .spread = 3},
                                 Inputs{.signs = negative, .exponent = 0, .spread = 3},
                                 Inputs{.signs = even_negative, .exponent = 1, .spread = 1},
                                 Inputs{.signs = odd_negative, .exponent = -1, .spread = 2},
                                 Inputs{.signs = both, .exponent = 9, .spread = 16},
                                 Inputs{.signs = both, .exponent = -9, .spread = 4},
                                 Inputs{.signs = both, .exponent = 0, .spread = 2, .zeros = 16}};
/// The first of which the reference has something finite is enough.
constexpr std::array sampled_kinds{Inputs{.signs = both, .exponent = 0, .spread = 8},
                                   Inputs{.signs = positive, .exponent = 0, .spread = 8}};

bool is_comparable(Real a) { return std::isfinite(a.value) && !is_unknown(a); }

/// Far above what rounding does: the bounds are of first order.
bool are_different(Real a, Real b) { return std::abs(a.value - b.value) > 16 * (a.error + b.error) + 1e-280; }

std::string difference(Values const& reference, Values const& candidate, std::size_t output) {
    for (std::size_t i = 0; i < reference.size(); ++i) {
        auto const a = reference[i], b = candidate[i];
        if (!is_comparable(a) || is_unknown(b)) continue;
        if (!std::isfinite(b.value))
            return fmt::format("output {} is {} where the program is {:.3g}, at compared element {} of {}", output,
                               b.value, a.value, i, reference.size());
        if (are_different(a, b))
            return fmt::format("output {} is {:.17g} where the program is {:.17g}, at compared element {} of {}",
                               output, b.value, a.value, i, reference.size());
    }
    return {};
}

} // namespace

struct RealReference::Impl {
    struct Draw {
        Inputs inputs;
        std::vector<Values> values;
    };
    Impl(Graph of, RealOptions const& with) : graph(std::move(of)), options(with) {}

    Graph graph;
    RealOptions options;
    std::vector<Box> boxes;
    bool is_whole = true; ///< every element of every output
    std::mutex mutex;
    std::optional<std::vector<Draw>> draws;

    std::vector<Draw> const& made(base::StopToken stop) {
        std::lock_guard const lock(mutex);
        if (!draws) draws = make(stop);
        return *draws;
    }
    [[nodiscard]] std::vector<Draw> make(base::StopToken stop) const {
        std::vector<Draw> out;
        auto const kinds = is_whole ? std::span<Inputs const>(whole_kinds) : std::span<Inputs const>(sampled_kinds);
        for (auto kind : kinds) {
            kind.seed = options.seed + out.size();
            auto values = evaluate(graph, kind, boxes, stop);
            auto const has_any = std::ranges::any_of(
                values, [](Values const& output) { return std::ranges::any_of(output, is_comparable); });
            if (has_any) out.push_back({kind, std::move(values)});
            if (has_any && !is_whole) break;
        }
        return out;
    }
};

RealReference::RealReference(Graph graph, RealOptions const& options)
    : impl_(std::make_unique<Impl>(std::move(graph), options)) {
    auto const tensors = program::infer(impl_->graph);
    for (auto const id : impl_->graph.outputs) {
        auto const& shape = tensors[id].shape;
        auto demand = sample(shape, options.max_elements, options.seed + impl_->boxes.size());
        impl_->is_whole = impl_->is_whole && demand.of_dim.empty();
        impl_->boxes.push_back(demand.of_dim.empty() ? whole(shape) : std::move(demand.of_dim));
    }
}
RealReference::RealReference(RealReference&&) noexcept = default;
RealReference::~RealReference() = default;

std::string RealReference::refute(Graph const& candidate, base::StopToken stop) const {
    for (auto const& [inputs, values] : impl_->made(stop)) {
        auto const found = evaluate(candidate, inputs, impl_->boxes, stop);
        for (std::size_t i = 0; i < values.size(); ++i)
            if (auto reason = difference(values[i], found[i], i); !reason.empty()) return reason;
    }
    return {};
}

} // namespace espalier::verify
