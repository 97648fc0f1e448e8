#pragma once

#include "espalier/config/codec.hpp"

#include <functional>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace espalier::config {

/// Texts of one key: what it is for, and for a required one how to write it.
struct KeyInfo {
    std::string name;
    std::string help;
    std::string example = {}; ///< not empty: the key is required
};

/// One row of a section's table.
template <class T>
struct Field {
    KeyInfo key;
    std::function<bool(Value const&, Context const&, T&)> read; ///< false: refused and reported
    std::function<Value(T const&)> write;
    std::function<base::Json()> schema;
    std::function<void(T&)> reset;              ///< to the default
    std::function<bool(T const&)> is_used = {}; ///< empty: always; else it may look at the rows above
    std::string used_for = {};                  ///< `binomial trees`

    [[nodiscard]] bool is_required() const { return !key.example.empty(); }
    [[nodiscard]] bool has_meaning(T const& value) const { return !is_used || is_used(value); }
};

void report_unknown_keys(Value const& map, std::vector<std::string> const& known, Context const& at);
void report_missing_key(Value const& map, KeyInfo const& key, Context const& at);
void report_meaningless_key(Entry const& entry, std::string const& used_for, Context const& at);
[[nodiscard]] base::Json object_schema();
/// Help and default of a key; the default of a map is left to the keys in it.
[[nodiscard]] base::Json described(base::Json schema, std::string const& help, Value const& fallback);

/// The described table of a struct `T`: everything that is known about its keys, in the order of reading and writing.
/// Defaults are those of a default-constructed `T`.
template <class T>
class Section {
public:
    using Check = std::function<bool(T const&, Value const&, Context const&)>;

    template <class M, class Get, class Set>
    Section& field(KeyInfo key, Codec<M> const& codec, Get get, Set set) {
        auto read = [codec, set](Value const& value, Context const& at, T& out) {
            auto part = codec.read(value, at);
            if (part) set(out, std::move(*part));
            return part.has_value();
        };
        auto write = [codec, get](T const& value) { return codec.write(get(value)); };
        fields_.push_back({std::move(key), read, write, codec.schema, [get, set](T& out) { set(out, get(T{})); }});
        return *this;
    }
    template <class M>
    Section& field(KeyInfo key, M T::*member, std::type_identity_t<Codec<M>> const& codec) {
        return field(
            std::move(key), codec, [member](T const& value) { return value.*member; },
            [member](T& out, M part) { out.*member = std::move(part); });
    }
    /// The last row has a meaning only where `is_used` holds; elsewhere the key is refused.
    Section& only_if(std::function<bool(T const&)> is_used, std::string used_for) {
        fields_.back().is_used = std::move(is_used);
        fields_.back().used_for = std::move(used_for);
        return *this;
    }
    /// Checks the whole once all keys are good; reports what is wrong and returns false.
    Section& check(Check check) {
        checks_.push_back(std::move(check));
        return *this;
    }
    /// A first row with a fixed word, which tells this section from its siblings.
    Section& tag(KeyInfo key, std::string const& word) {
        auto schema = [word] { return base::Json{{"const", word}}; };
        fields_.insert(fields_.begin(), {std::move(key), [](auto&&...) { return true; },
                                         [word](T const&) { return make_plain(word); }, schema, [](T&) {}});
        return *this;
    }

    [[nodiscard]] std::optional<T> read(Value const& map, Context const& at, T out = {}) const {
        bool is_good = expect_map(map, at);
        if (map.kind != Value::Kind::map) return std::nullopt;
        report_unknown_keys(map, names(), at);
        for (auto const& field : fields_) is_good = read_field(field, map, at, out, is_good) && is_good;
        if (!is_good) return std::nullopt;
        for (auto const& field : fields_)
            if (!field.has_meaning(out)) field.reset(out);
        for (auto const& check : checks_) is_good = check(out, map, at) && is_good;
        return is_good ? std::optional<T>(std::move(out)) : std::nullopt;
    }
    [[nodiscard]] Value write(T const& value) const {
        auto map = make_map();
        for (auto const& field : fields_)
            if (field.has_meaning(value)) map.entries.push_back({field.key.name, {}, field.write(value)});
        return map;
    }
    [[nodiscard]] base::Json schema() const {
        auto out = object_schema();
        for (auto const& field : fields_) {
            auto const fallback = field.is_required() ? Value{} : field.write(T{});
            auto const help = field.used_for.empty() ? field.key.help : field.key.help + "; " + field.used_for;
            out["properties"][field.key.name] = described(field.schema(), help, fallback);
            if (field.is_required()) out["required"].push_back(field.key.name);
        }
        return out;
    }
    [[nodiscard]] Codec<T> codec() const {
        auto const self = shared(*this);
        return {[self](Value const& value, Context const& at) { return self->read(value, at); },
                [self](T const& value) { return self->write(value); }, [self] { return self->schema(); }};
    }

private:
    /// `is_certain`: the rows above were read, so that a row may be judged by them.
    static bool read_field(Field<T> const& field, Value const& map, Context const& at, T& out, bool is_certain) {
        auto const* entry = map.find(field.key.name);
        if (!entry && field.is_required()) report_missing_key(map, field.key, at);
        if (!entry) return !field.is_required();
        if (!is_certain || field.has_meaning(out)) return field.read(entry->value, at.in(field.key.name), out);
        report_meaningless_key(*entry, field.used_for, at.in(field.key.name));
        return true;
    }
    [[nodiscard]] std::vector<std::string> names() const {
        std::vector<std::string> out;
        for (auto const& field : fields_) out.push_back(field.key.name);
        return out;
    }

    std::vector<Field<T>> fields_;
    std::vector<Check> checks_;
};

} // namespace espalier::config
