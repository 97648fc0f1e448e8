#pragma once

#include "polynomial.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace espalier::problems::substitution::affine {

/// Variables by name; those of a parameter, one for each place where it is read, share its name up to `@`.
class Variables {
public:
    /// Throws TooLarge.
    [[nodiscard]] std::size_t id(std::string const& name);
    [[nodiscard]] std::string const& name(std::size_t id) const { return names_[id]; }

private:
    std::vector<std::string> names_;
};

/// Which signs polynomials have in the case that is looked at; 0 is left out, since everything is continuous.
class Cases {
public:
    /// A parameter is positive or negative, at every place.
    void know(std::string const& parameter, int sign) { parameters_[parameter] = sign; }
    /// 0: of the polynomial 0. Nothing: it is open, and remembered as such.
    [[nodiscard]] std::optional<int> sign(Fraction const& of, Variables const& variables);
    void decide(Polynomial const& primitive, int sign) { signs_[primitive] = sign, open_.reset(); }
    /// The first polynomial that was asked for in vain.
    [[nodiscard]] std::optional<Polynomial> const& open() const { return open_; }
    /// False: no numbers have all these signs.
    [[nodiscard]] bool may_be() const;

private:
    [[nodiscard]] std::optional<int> sign(Polynomial const& of, Variables const& variables);
    [[nodiscard]] std::optional<int> sign_of(Monomial const& of, Variables const& variables);
    [[nodiscard]] std::optional<int> sign_of_terms(Polynomial const& of, Variables const& variables) const;
    [[nodiscard]] int known_sign(std::size_t variable, Variables const& variables) const;

    std::map<std::string, int> parameters_;
    std::map<Polynomial, int> signs_;
    std::optional<Polynomial> open_;
};

} // namespace espalier::problems::substitution::affine
