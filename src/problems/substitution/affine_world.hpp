#pragma once

#include "affine_space.hpp"

#include "espalier/base/rng.hpp"

#include <optional>
#include <vector>

namespace espalier::problems::substitution::affine {

/// What is asked of a parameter's values.
enum class SignClass : std::uint8_t { any, positive, negative };

/// Random values for all inputs, and what terms are with them, computed when they are asked for. One per thread.
class World {
public:
    /// `signs`: by term, of inputs. The space outlives it.
    World(Space const& space, Sizes const& sizes, std::uint64_t seed, std::vector<SignClass> const& signs);

    [[nodiscard]] Sizes const& sizes() const { return sizes_; }
    [[nodiscard]] Tensor const& data(std::size_t input) const { return data_[input]; }
    /// Null: a division by 0, or no groups to merge.
    [[nodiscard]] Tensor const* term(TermId id) const;

private:
    [[nodiscard]] std::optional<Tensor> made(Term const& term) const;

    Space const* space_;
    Sizes sizes_;
    std::vector<Tensor> data_;
    mutable std::vector<std::optional<Tensor>> terms_;
    mutable std::vector<bool> is_made_;
};

/// A random tensor of the type.
[[nodiscard]] Tensor drawn(Type type, Sizes const& sizes, SignClass sign, base::Rng& rng);

} // namespace espalier::problems::substitution::affine
