#include "affine_elements.hpp"

#include <fmt/format.h>

#include <charconv>

namespace espalier::problems::substitution::affine {
namespace {

Fraction number(std::int64_t above, std::int64_t below = 1) { return Fraction(Polynomial(Rational(above, below))); }

/// Of what a convolution sums over: `x@1` inside one at depth 0.
bool is_inside(std::string const& name, int depth) { return name.ends_with(fmt::format("@{}", depth + 1)); }

} // namespace

Rational rational(std::string const& text) {
    auto const read = [](std::string_view part) {
        std::int64_t value = 0;
        auto const [end, error] = std::from_chars(part.data(), part.data() + part.size(), value);
        if (error != std::errc{} || end != part.data() + part.size()) throw TooLarge{};
        return value;
    };
    auto const slash = text.find('/');
    auto const below = slash == std::string::npos ? 1 : read(std::string_view(text).substr(slash + 1));
    return {read(std::string_view(text).substr(0, slash)), below};
}

Elements::Elements(library::Rule const& rule, library::Graph const& graph, Variables& variables, Cases& cases)
    : rule_(rule), graph_(graph), variables_(variables), cases_(cases) {
    for (auto const& op : graph.operators)
        for (auto const& name : op.outputs) maker_[name] = &op;
}

std::optional<Fraction> Elements::output() { return element(graph_.outputs.front(), 0); }

Fraction Elements::variable(std::string const& name) { return Fraction(Polynomial::variable(variables_.id(name))); }
/// A scalar is the same everywhere, everything else has an index.
Fraction Elements::input(library::Input const& input, int depth) {
    if (input.kind == library::InputClass::weights) throw TooLarge{};
    return variable(input.kind == library::InputClass::scalar ? input.name : fmt::format("{}@{}", input.name, depth));
}

Elements::Element Elements::element(std::string const& name, int depth) {
    if (auto const* input = rule_.input(name)) return this->input(*input, depth);
    auto const at = maker_.find(name);
    if (at == maker_.end()) return Fraction(Polynomial(rational(name)));
    return made(*at->second, depth);
}

Elements::Element Elements::made(library::Operator const& op, int depth) {
    if (op.op == "conv") return convolved(op, depth);
    std::vector<Fraction> read;
    for (auto const& name : op.inputs) {
        auto const one = element(name, depth);
        if (!one) return std::nullopt;
        read.push_back(*one);
    }
    auto const is = [&](std::string_view name, std::size_t operands) {
        return op.op == name && read.size() == operands;
    };
    if (is("add", 2)) return read[0] + read[1];
    if (is("mul", 2)) return read[0] * read[1];
    if (is("div", 2)) return read[0] / read[1];
    if (is("clip", 3)) return clipped(read[0], read[1], read[2], depth);
    if (is("hard_sigmoid", 3)) return hard_sigmoid(read[0], read[1], read[2], depth);
    if (is("relu", 1)) return relu(read[0], depth);
    if (!is("hard_swish", 1)) throw TooLarge{}; // another space's operator
    auto const gate = hard_sigmoid(read[0], number(1, 6), number(1, 2), depth);
    if (!gate) return std::nullopt;
    return read[0] * *gate;
}

/// Inside a convolution a clip is a function of its operands, nothing more.
Elements::Element Elements::clipped(Fraction const& x, Fraction const& low, Fraction const& high, int depth) {
    if (depth == 0) return clipped_here(x, low, high);
    return variable(fmt::format("clip({},{},{})@{}", text(x), text(low), text(high), depth));
}

Elements::Element Elements::clipped_here(Fraction const& x, Fraction const& low, Fraction const& high) {
    auto const range = cases_.sign(high - low, variables_);
    if (!range) return std::nullopt;
    if (*range < 0) {
        has_no_meaning_ = true;
        return std::nullopt;
    }
    auto const above_low = cases_.sign(x - low, variables_);
    if (!above_low) return std::nullopt;
    if (*above_low < 0) return low;
    auto const below_high = cases_.sign(high - x, variables_);
    if (!below_high) return std::nullopt;
    return *below_high < 0 ? high : x;
}

Elements::Element Elements::hard_sigmoid(Fraction const& x, Fraction const& alpha, Fraction const& beta, int depth) {
    return clipped(x * alpha + beta, number(0), number(1), depth);
}

Elements::Element Elements::relu(Fraction const& x, int depth) {
    if (depth > 0) return variable(fmt::format("relu({})@{}", text(x), depth));
    auto const sign = cases_.sign(x, variables_);
    if (!sign) return std::nullopt;
    return *sign > 0 ? x : number(0);
}

std::optional<Elements::Kernel> Elements::kernel(std::string const& name, int depth) {
    if (auto const* input = rule_.input(name)) {
        if (input->kind != library::InputClass::weights) throw TooLarge{};
        return Kernel{name, number(1), number(1)};
    }
    auto const at = maker_.find(name);
    if (at == maker_.end()) throw TooLarge{};
    auto const& op = *at->second;
    auto out = kernel(op.inputs.front(), depth);
    if (!out || op.op == "merge_groups") return out; // what is added is 0
    if (op.inputs.size() != 2) throw TooLarge{};
    auto const scales_inputs = op.op == "scale_inputs";
    auto const factor = element(op.inputs.back(), scales_inputs ? depth + 1 : depth);
    if (!factor) return std::nullopt;
    auto const is_number = op.op == "mul" && text(*factor).find('@') == std::string::npos;
    if (!scales_inputs && op.op != "scale_outputs" && !is_number) throw TooLarge{};
    auto& scaled = scales_inputs ? out->inner : out->outer;
    scaled = scaled * *factor;
    return out;
}

/// The sum over inputs and taps of weights times an element: one for each monomial, without what is not summed over.
Polynomial Elements::sum_of_products(std::string const& base, Fraction const& of, int depth) {
    if (of.denominator().terms().size() != 1) throw TooLarge{};
    auto const& [below, divisor] = *of.denominator().terms().begin();
    Polynomial out;
    for (auto const& [above, factor] : of.numerator().terms()) {
        auto const monomial = quotient(above, below);
        Monomial inner{}, outer{};
        for (std::size_t i = 0; i < monomial.size(); ++i)
            if (monomial[i] != 0) (is_inside(variables_.name(i), depth) ? inner : outer)[i] = monomial[i];
        auto const sum = variables_.id(fmt::format("conv({};{})@{}", base, text(inner), depth));
        out = out + Polynomial::of(outer, factor / divisor) * Polynomial::variable(sum);
    }
    return out;
}

Elements::Element Elements::convolved(library::Operator const& op, int depth) {
    if (op.inputs.size() < 2 || op.inputs.size() > 3) throw TooLarge{};
    auto const weights = kernel(op.inputs[1], depth);
    auto const x = element(op.inputs[0], depth + 1);
    if (!weights || !x) return std::nullopt;
    auto const sums = sum_of_products(weights->base, *x * weights->inner, depth);
    // negative powers of what is not summed over go below
    Monomial lowest{};
    for (auto const& [monomial, factor] : sums.terms())
        for (std::size_t i = 0; i < lowest.size(); ++i) lowest[i] = std::min(lowest[i], monomial[i]);
    auto const below = Polynomial::of(quotient({}, lowest), Rational(1));
    auto out = Fraction(sums * below, below) * weights->outer;
    if (op.inputs.size() == 2) return out;
    auto const bias = element(op.inputs[2], depth);
    if (!bias) return std::nullopt;
    return out + *bias;
}

std::string Elements::text(Monomial const& monomial) const {
    std::map<std::string, int> powers;
    for (std::size_t i = 0; i < monomial.size(); ++i)
        if (monomial[i] != 0) powers[variables_.name(i)] = monomial[i];
    std::string out;
    for (auto const& [name, power] : powers) out += fmt::format("{}{}^{}", out.empty() ? "" : "*", name, power);
    return out.empty() ? "1" : out;
}
std::string Elements::text(Polynomial const& polynomial) const {
    std::map<std::string, Rational> factors;
    for (auto const& [monomial, factor] : polynomial.terms()) factors.emplace(text(monomial), factor);
    std::string out;
    for (auto const& [monomial, factor] : factors)
        out += fmt::format("+{}/{}*{}", factor.numerator(), factor.denominator(), monomial);
    return out;
}
std::string Elements::text(Fraction const& fraction) const {
    return fmt::format("({})/({})", text(fraction.numerator()), text(fraction.denominator()));
}

} // namespace espalier::problems::substitution::affine
