#pragma once

#include "espalier/config/section.hpp"

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace espalier::config {

/// `T1` or a map of parameters: a shorthand in one word, or the section of a part of `T`, or of all of it, in full. The
/// scalar writes null for what has no shorthand. A key that an override sets inside a shorthand changes its full form.
template <class T, class Part, class Projection>
class WordOrSection {
public:
    WordOrSection(Scalar<T> word, Section<Part> section, Projection part)
        : word_(std::move(word)), section_(std::move(section)), part_(part) {}

    [[nodiscard]] std::optional<T> read(Value const& value, Context const& at) const {
        if (value.kind != Value::Kind::map) return read_scalar(word_, value, at);
        auto const base = value.shorthand.empty() ? T{} : read_scalar(word_, value.shorthand.front(), at);
        return base ? read_full(value, at, *base) : std::nullopt;
    }
    [[nodiscard]] Value write(T const& value) const {
        auto const word = word_.write(value);
        return word.kind == Value::Kind::null ? section_.write(std::invoke(part_, value)) : word;
    }
    [[nodiscard]] base::Json schema() const {
        return {{"anyOf", base::Json::array({word_.schema, section_.schema()})}};
    }

private:
    std::optional<T> read_full(Value map, Context const& at, T const& base) const {
        map.shorthand.clear();
        auto full = section_.read(map, at, std::invoke(part_, base));
        if (!full) return std::nullopt;
        T out{};
        std::invoke(part_, out) = std::move(*full);
        return out;
    }

    Scalar<T> word_;
    Section<Part> section_;
    Projection part_;
};

template <class T, class Part, class Projection>
Codec<T> word_or_section(Scalar<T> const& word, Section<Part> const& section, Projection part) {
    auto const self = shared(WordOrSection<T, Part, Projection>(word, section, part));
    return {[self](Value const& value, Context const& at) { return self->read(value, at); },
            [self](T const& value) { return self->write(value); }, [self] { return self->schema(); }};
}

} // namespace espalier::config
