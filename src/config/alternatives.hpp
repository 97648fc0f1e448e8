#pragma once

#include "section.hpp"

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace espalier::config {

/// `T1` or a map of parameters: a shorthand in one word, or the section of a part of `T`, or of all of it, in full. The
/// scalar writes null for what has no shorthand. A key that an override sets inside a shorthand changes the full form
/// of it.
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

/// The closed set of sections of which a word (`kind`) selects one. `Variant` has one alternative a row.
template <class Variant>
class Kinds {
public:
    explicit Kinds(KeyInfo selector) : selector_(std::move(selector)) {}

    /// `canonical` maps equal problems to equal values.
    template <class T>
    Kinds& add(std::string const& name, Section<T> section, std::function<T(T)> canonical = std::identity{}) {
        auto const codec = section.tag(selector_, name).codec();
        rows_.push_back(
            {name, [](Variant const& value) { return std::holds_alternative<T>(value); },
             [codec](Value const& map, Context const& at) -> std::optional<Variant> { return codec.read(map, at); },
             [codec](Variant const& value) { return codec.write(std::get<T>(value)); }, codec.schema,
             [canonical](Variant const& value) -> Variant { return canonical(std::get<T>(value)); }});
        return *this;
    }
    [[nodiscard]] std::string const& name_of(Variant const& value) const { return row_of(value).name; }
    [[nodiscard]] Variant canonical(Variant const& value) const { return row_of(value).canonical(value); }
    [[nodiscard]] Value write(Variant const& value) const { return row_of(value).write(value); }
    [[nodiscard]] std::optional<Variant> read(Value const& map, Context const& at) const {
        if (!expect_map(map, at)) return std::nullopt;
        auto const* entry = map.find(selector_.name);
        if (!entry) {
            report_missing_key(map, selector_, at);
            return std::nullopt;
        }
        auto const index = read_scalar(word(names()), entry->value, at.in(selector_.name));
        return index ? rows_[*index].read(map, at) : std::nullopt;
    }
    [[nodiscard]] base::Json schema() const {
        auto all = base::Json::array();
        for (auto const& row : rows_) all.push_back(row.schema());
        return {{"oneOf", all}};
    }
    [[nodiscard]] Codec<Variant> codec() const {
        auto const self = shared(*this);
        return {[self](Value const& value, Context const& at) { return self->read(value, at); },
                [self](Variant const& value) { return self->write(value); }, [self] { return self->schema(); }};
    }

private:
    struct Row {
        std::string name;
        std::function<bool(Variant const&)> holds;
        std::function<std::optional<Variant>(Value const&, Context const&)> read;
        std::function<Value(Variant const&)> write;
        std::function<base::Json()> schema;
        std::function<Variant(Variant const&)> canonical;
    };
    [[nodiscard]] Row const& row_of(Variant const& value) const {
        return *std::ranges::find_if(rows_, [&](Row const& row) { return row.holds(value); });
    }
    [[nodiscard]] std::vector<std::string> names() const {
        std::vector<std::string> out;
        for (auto const& row : rows_) out.push_back(row.name);
        return out;
    }

    KeyInfo selector_;
    std::vector<Row> rows_;
};

} // namespace espalier::config
