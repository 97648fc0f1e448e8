#pragma once

#include "affine_space.hpp"

#include "espalier/base/rng.hpp"

#include <optional>
#include <vector>

namespace espalier::problems::substitution::affine {

/// What is asked of a parameter's values.
enum class SignClass : std::uint8_t { any, positive, negative };

/// Random values for all inputs, and what all terms are with them.
class World {
public:
    /// `signs`: by term, of inputs.
    World(Space const& space, Sizes const& sizes, std::uint64_t seed, std::vector<SignClass> const& signs);

    [[nodiscard]] Sizes const& sizes() const { return sizes_; }
    [[nodiscard]] Tensor const& data(std::size_t input) const { return data_[input]; }
    /// Null: a division by 0.
    [[nodiscard]] Tensor const* term(TermId id) const { return id == no_term || !terms_[id] ? nullptr : &*terms_[id]; }

private:
    Sizes sizes_;
    std::vector<Tensor> data_;
    std::vector<std::optional<Tensor>> terms_;
};

/// A random tensor of the type.
[[nodiscard]] Tensor drawn(Type type, Sizes const& sizes, SignClass sign, base::Rng& rng);

} // namespace espalier::problems::substitution::affine
