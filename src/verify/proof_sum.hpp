#pragma once

#include "proof_form.hpp"

#include "espalier/base/stop.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace espalier::verify::proof {

/// Ends a proof from deep inside a recursion; Prover makes it a value.
struct Unprovable {
    std::string reason;
};
inline constexpr std::string_view too_large = "too large";

__extension__ using Wide = __int128;

/// Exact; in lowest terms with bottom > 0. Unprovable if 128 bits do not hold it.
struct Fraction {
    Wide top = 1;
    Wide bottom = 1;

    bool operator==(Fraction const&) const = default;
};
[[nodiscard]] Fraction operator*(Fraction a, Fraction b);
[[nodiscard]] Fraction operator+(Fraction a, Fraction b);
/// Unprovable for 0.
[[nodiscard]] Fraction inverse(Fraction a);

/// The index variables of one proof, and how much it may still do.
class Workspace {
public:
    static constexpr std::int64_t max_steps = 200'000;

    explicit Workspace(base::StopToken stop = {}) : stop_(stop) {}
    [[nodiscard]] int new_variable(std::int64_t size) {
        sizes_.push_back(size);
        return static_cast<int>(sizes_.size()) - 1;
    }
    [[nodiscard]] std::int64_t size(int variable) const { return sizes_[static_cast<std::size_t>(variable)]; }
    [[nodiscard]] int variable_count() const { return static_cast<int>(sizes_.size()); }
    /// The variable as an index; of size 1 it is 0.
    [[nodiscard]] Form form(int variable) const {
        return size(variable) == 1 ? Form{}
                                   : Form{{.variable = variable, .low = 1, .high = size(variable), .stride = 1}};
    }
    /// Of a variable whose values count only where the form is below a size: those of a tile that may be the last,
    /// which is smaller.
    struct Guard {
        int variable = 0;
        Form form;
        std::int64_t size = 0;
    };
    void add_guard(Guard guard) { guards_.push_back(std::move(guard)); }
    [[nodiscard]] std::vector<Guard> const& guards() const { return guards_; }
    /// Unprovable past the limit; Stopped, which decides nothing, if the run stops.
    void spend(std::int64_t steps = 1) {
        stop_.check();
        if ((steps_ -= steps) < 0) throw Unprovable{std::string(too_large)};
    }

private:
    base::StopToken stop_;
    std::vector<std::int64_t> sizes_;
    std::vector<Guard> guards_;
    std::int64_t steps_ = max_steps;
};

struct Sum;

/// An input element or a function of sums. The argument of an extremum is a sum of which each term is one option: what
/// is compared, for all values of the bound variables of that term for which its other factors, of kind inside, are 1.
/// `inside` is 1 where its index is below a size, and 0 past it.
struct Atom {
    enum class Kind : std::uint8_t { input, exp, sqrt, function, extremum, option, inside };
    Kind kind = Kind::input;
    int id = 0;                     ///< input: its number; function: its op; extremum: max or min
    Index index;                    ///< of an input; inside: one form
    std::vector<double> attributes; ///< of a function; inside: the size
    std::vector<Sum> arguments;
};

/// coefficient * sum over `bound` of the product of `factors` / divisor. Bound variables run over their sizes, in
/// factors and divisor alike. At most one factor is an exp and one a sqrt. Values that were made apart have no bound
/// variable in common.
struct Term {
    Fraction coefficient;
    std::vector<int> bound;
    std::vector<Atom> factors;
    std::vector<Sum> divisor; ///< none or one
};

/// A real value as a sum of terms; none is 0.
struct Sum {
    std::vector<Term> terms;
};

[[nodiscard]] Atom inside(Workspace::Guard const& guard);
[[nodiscard]] Sum to_sum(Atom atom);
[[nodiscard]] Sum to_sum(Fraction number);
[[nodiscard]] Sum call(Atom::Kind kind, Sum argument);
void add(Sum& to, Sum from);
void scale(Sum& sum, Fraction by);
/// The sum over all values of a variable.
void bind(Sum& sum, int variable);
/// Every term only where the factor is not 0.
void restrict_to(Sum& sum, Atom const& inside);
/// The largest number that all coefficients are whole multiples of; of a sum that is not 0.
[[nodiscard]] Fraction content(Sum const& sum);
/// Expanded; exp(a) exp(b) = exp(a + b), sqrt(a) sqrt(b) = sqrt(a b).
[[nodiscard]] Sum multiply(Workspace& work, Sum const& a, Sum const& b);
/// Every term by `b`; (x / y) / z = x / (y z), and for a product b also x / (y / z) = x z / y, x / exp(y) = x exp(-y).
[[nodiscard]] Sum divide(Workspace& work, Sum a, Sum b);

} // namespace espalier::verify::proof
