#pragma once

#include "espalier/config/diagnostics.hpp"
#include "espalier/config/scalar.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace espalier::config {

/// One copy for all functions of a codec, which share it; copies at every level would grow exponentially with nesting.
template <class T>
std::shared_ptr<T const> shared(T const& value) {
    return std::make_shared<T const>(value);
}

/// How a value of any form is read, written and described. `read` reports what is wrong and then returns nothing.
template <class T>
struct Codec {
    std::function<std::optional<T>(Value const&, Context const&)> read;
    std::function<Value(T const&)> write;
    std::function<base::Json()> schema;

    Codec() = default;
    Codec(decltype(read) r, decltype(write) w, decltype(schema) s)
        : read(std::move(r)), write(std::move(w)), schema(std::move(s)) {}
    Codec(Scalar<T> const& scalar);
};

/// `'search.threads' = 0 is out of range: use auto or a whole number from 1 to 8`.
[[nodiscard]] std::string refusal_text(Value const& value, Refusal const& problem, std::string const& expected,
                                       Context const& at);
/// Reports a value of the wrong form, or one that an override tried to enter.
bool expect_scalar(Value const& value, std::string const& expected, Context const& at);
bool expect_list(Value const& value, Context const& at);
bool expect_map(Value const& value, Context const& at);

template <class T>
std::optional<T> read_scalar(Scalar<T> const& scalar, Value const& value, Context const& at) {
    if (!expect_scalar(value, scalar.expected, at)) return std::nullopt;
    auto parsed = scalar.parse(value);
    if (auto* good = std::get_if<T>(&parsed)) return std::move(*good);
    at.error(value.place, refusal_text(value, std::get<Refusal>(parsed), scalar.expected, at));
    return std::nullopt;
}

template <class T>
Codec<T>::Codec(Scalar<T> const& scalar)
    : read([scalar](Value const& value, Context const& at) { return read_scalar(scalar, value, at); }),
      write(scalar.write), schema([schema = scalar.schema] { return schema; }) {}

template <class T>
std::optional<std::vector<T>> read_list(Codec<T> const& item, Value const& value, Context const& at) {
    if (!expect_list(value, at)) return std::nullopt;
    std::vector<T> out;
    for (std::size_t i = 0; i < value.items.size(); ++i)
        if (auto one = item.read(value.items[i], at.item(i))) out.push_back(std::move(*one));
    if (out.size() < value.items.size()) return std::nullopt;
    return out;
}

template <class T>
Value write_list(Codec<T> const& item, std::vector<T> const& values) {
    Value list;
    list.kind = Value::Kind::list;
    for (auto const& value : values) list.items.push_back(item.write(value));
    return list;
}

template <class T>
Codec<std::vector<T>> list_of(Codec<T> const& item_codec) {
    auto const item = shared(item_codec);
    return {[item](Value const& value, Context const& at) { return read_list(*item, value, at); },
            [item](std::vector<T> const& values) { return write_list(*item, values); },
            [item] {
                return base::Json{{"type", "array"}, {"items", item->schema()}};
            }};
}

} // namespace espalier::config
