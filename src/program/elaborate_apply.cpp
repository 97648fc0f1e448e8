#include "elaborator.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace espalier::program {

/// Replaces one word by another.
struct Elaborator::Renaming {
    Word from, to;
    [[nodiscard]] SymbolicShape operator()(SymbolicShape shape) const {
        for (int i = 0; i < shape.rank(); ++i)
            for (int s = 0; s < Word::max_symbols; ++s)
                if (from.exponent(s) > 0)
                    for (auto n = shape[i].exponent(s); n > 0; --n) shape[i] = shape[i] / from * to;
        return shape;
    }
};

std::optional<TensorId> Elaborator::apply(std::size_t i, OpCode code, TensorIds const& in, Attributes const& attributes,
                                          SymbolicShape const* words) {
    auto const sizes = numbers(code, in, attributes);
    if (!sizes) {
        problem(Part::op, i, "{} needs {}, got {}", source_.ops[i].op, info(code).needs, shapes_text(i, in));
        return std::nullopt;
    }
    auto const names = symbols(code, in, attributes, words);
    if (!names && finds_name(code, in, attributes, words)) return std::nullopt;
    if (!names) {
        problem(Part::op, i,
                "{} fits only because different dimensions have one size, got {}: give one name to dimensions that "
                "are the same",
                source_.ops[i].op, shapes_text(i, in));
        return std::nullopt;
    }
    if (!is_of_bearable_size(Part::op, i, *sizes)) return std::nullopt;
    out_.graph.ops.push_back({code, attributes, in, -1});
    out_.source_ops.push_back(i);
    return push(*sizes, *names);
}

bool Elaborator::finds_name(OpCode code, TensorIds const& in, Attributes const& attributes,
                            SymbolicShape const* sizes) {
    for (auto const unnamed : relations_.sizes) {
        auto const name = std::to_string(unnamed);
        if (relations_.find(name)) continue;
        auto const from = table_.word_of(name);
        for (auto const id : in)
            for (int d = 0; d < shape(id).rank(); ++d) {
                auto const& to = words(id)[d];
                if (shape(id)[d] != unnamed || to == from || !fits_with(code, in, attributes, sizes, {from, to}))
                    continue;
                relations_.products.push_back({name, table_.factors_of(to)});
                return true;
            }
    }
    return false;
}

bool Elaborator::fits_with(OpCode code, TensorIds const& in, Attributes const& a, SymbolicShape const* sizes,
                           Renaming const& renamed) const {
    std::vector<SymbolicShape> shapes;
    for (auto const id : in) shapes.push_back(renamed(words(id)));
    auto const others = sizes ? renamed(*sizes) : SymbolicShape{};
    auto const size = renamed({word_of(std::to_string(a.whole(AttributeName::size, 1)))})[0];
    return info(code).symbolic_shape({shapes, a, size, {}, 0, &others}).has_value();
}

std::optional<Shape> Elaborator::numbers(OpCode code, TensorIds const& in, Attributes const& a) const {
    std::vector<Shape> shapes;
    for (auto const id : in) shapes.push_back(shape(id));
    return info(code).shape({shapes, a, a.whole(AttributeName::size, 0), 1});
}

std::optional<SymbolicShape> Elaborator::symbols(OpCode code, TensorIds const& in, Attributes const& a,
                                                 SymbolicShape const* sizes) const {
    if (!is_symbolic_) return SymbolicShape{};
    std::vector<SymbolicShape> shapes;
    for (auto const id : in) shapes.push_back(words(id));
    auto const size = a.whole(AttributeName::size, 1);
    return info(code).symbolic_shape({shapes, a, word_of(std::to_string(size)), {}, 0, sizes});
}

std::string Elaborator::shapes_text(std::size_t i, TensorIds const& in) const {
    auto const& names = source_.ops[i].in;
    std::string out;
    for (std::size_t j = 0; j < in.size(); ++j) {
        auto const has_name = j < names.size() && tensors_.contains(names[j]) && tensors_.at(names[j]).id == in[j];
        out += fmt::format("{}{} {}", out.empty() ? "" : " and ", has_name ? names[j] : "a tensor within it",
                           shape_text(in[j]));
    }
    return out;
}

std::string Elaborator::shape_text(TensorId id) const {
    auto const sizes = to_text(shape(id));
    std::vector<std::string> names;
    for (auto const& word : words(id)) names.push_back(table_.text(word));
    auto const named = fmt::format("[{}]", fmt::join(names, ", "));
    return !is_symbolic_ || named == sizes ? sizes : fmt::format("{} = {}", named, sizes);
}

} // namespace espalier::program
