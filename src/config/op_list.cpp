#include "op_list.hpp"

#include "espalier/config/section.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>

namespace espalier::config {
namespace {

using program::NamedDim;
using program::Source;
using program::SourceInput;
using program::SourceOp;
using program::SourceProblem;

constexpr double any_number = 1e30;

/// A map from names that are the user's own to items, in the order of the text.
template <class Item>
Codec<std::vector<Item>> named_items(auto const& item_codec, auto make, auto part) {
    auto const item = shared(item_codec);
    auto const read = [=](Value const& map, Context const& at) -> std::optional<std::vector<Item>> {
        if (!expect_map(map, at)) return std::nullopt;
        std::vector<Item> out;
        for (auto const& entry : map.entries)
            if (auto one = item->read(entry.value, at.in(entry.key))) out.push_back(make(entry.key, std::move(*one)));
        if (out.size() < map.entries.size()) return std::nullopt;
        return out;
    };
    auto const write = [=](std::vector<Item> const& items) {
        auto map = make_map();
        for (auto const& one : items) map.entries.push_back({one.name, {}, item->write(part(one))});
        return map;
    };
    auto const schema = [=] { return base::Json{{"type", "object"}, {"additionalProperties", item->schema()}}; };
    return {read, write, schema};
}

Codec<std::vector<NamedDim>> dims_codec() {
    auto size = integer<std::int64_t>({std::numeric_limits<std::int64_t>::min()}); // the program says which it takes
    size.expected = "a whole number of at least 1";
    size.schema["minimum"] = 1;
    return named_items<NamedDim>(
        Codec<std::int64_t>(size),
        [](std::string const& name, std::int64_t one) {
            return NamedDim{name, one};
        },
        [](NamedDim const& dim) { return dim.size; });
}

/// The name of a tensor. Single letters stay without quotes, though `y` and `n` are truth values in the text of YAML
/// 1.1: they are the usual names, and readers do not follow it there.
Scalar<std::string> tensor_name() {
    auto out = text();
    out.write = [](std::string const& name) {
        auto const is_letter = name.size() == 1 && std::isalpha(static_cast<unsigned char>(name.front())) != 0;
        return is_letter ? make_plain(name) : make_text(name);
    };
    return out;
}

/// The name of a dimension, or its size.
Scalar<std::string> dim_text() {
    auto dim = tensor_name();
    dim.expected = "the name of a dimension or a whole number";
    dim.write = [write = dim.write](std::string const& name) {
        auto const is_digit = [](unsigned char c) { return std::isdigit(c) != 0; };
        return std::ranges::all_of(name, is_digit) ? make_plain(name) : write(name);
    };
    dim.schema = {{"type", base::Json::array({"string", "integer"})}};
    return dim;
}

/// The same, or an expression of them.
Scalar<std::string> size_text() {
    auto size = dim_text();
    size.expected = "the name of a dimension, a whole number or a product of them";
    size.write = [write = size.write](std::string const& text) {
        auto const is_size = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_' || c == '-' || c == '*'; };
        auto const is_made = text.starts_with('-') || text.find('*') != std::string::npos;
        return is_made && text.front() != '*' && std::ranges::all_of(text, is_size) ? make_plain(text) : write(text);
    };
    return size;
}

Codec<std::vector<SourceInput>> inputs_codec() {
    return named_items<SourceInput>(
        list_of<std::string>(size_text()),
        [](std::string const& name, std::vector<std::string> dims) {
            return SourceInput{name, std::move(dims)};
        },
        [](SourceInput const& input) { return input.dims; });
}

/// One thing, or a list of them; one alone is written without brackets.
template <class T>
Codec<std::vector<T>> one_or_list(Codec<T> const& item_codec) {
    auto const item = shared(item_codec);
    auto const list = shared(list_of(item_codec));
    return {[=](Value const& value, Context const& at) -> std::optional<std::vector<T>> {
                if (value.kind == Value::Kind::list) return list->read(value, at);
                auto one = item->read(value, at);
                return one ? std::optional(std::vector<T>{std::move(*one)}) : std::nullopt;
            },
            [=](std::vector<T> const& all) { return all.size() == 1 ? item->write(all.front()) : list->write(all); },
            [=] {
                return base::Json{{"anyOf", base::Json::array({item->schema(), list->schema()})}};
            }};
}

/// An attribute of sizes or of a dtype.
void add_words(Section<SourceOp>& section, program::AttributeName attribute) {
    auto const find = [attribute](SourceOp const& op) {
        return std::ranges::find(op.words, attribute, &program::AttributeWords::name);
    };
    section.field(
        {std::string(name(attribute)), "attribute of the ops that have it: sizes such as `D`, `H*D` or 64, or a dtype"},
        one_or_list<std::string>(size_text()),
        [find](SourceOp const& op) {
            auto const at = find(op);
            return at == op.words.end() ? std::vector<std::string>{} : at->words;
        },
        [attribute](SourceOp& op, std::vector<std::string> const& words) {
            if (!words.empty()) op.words.push_back({attribute, words});
        });
}

Section<SourceOp> op_section() {
    using program::Attribute;
    Section<SourceOp> section;
    section.field({"out", "the tensor it makes", "Y"}, &SourceOp::out, one_or_list<std::string>(tensor_name()))
        .field({"op", "which op, e.g. matmul, rmsnorm or exp", "matmul"}, &SourceOp::op, text())
        .field({"in", "its operands", "[X, W]"}, &SourceOp::in, list_of<std::string>(tensor_name()));
    for (std::size_t i = 0; i < program::attribute_names.size(); ++i) {
        auto const attribute = static_cast<program::AttributeName>(i);
        if (program::is_in_words(attribute)) {
            add_words(section, attribute);
            continue;
        }
        auto const find = [attribute](SourceOp const& op) { return op.attributes.find(attribute); };
        section.field(
            {std::string(name(attribute)), "attribute of the ops that have it"},
            one_or_list<double>(real({-any_number, any_number})),
            [find](SourceOp const& op) { return find(op) ? find(op)->values : std::vector<double>{}; },
            [attribute](SourceOp& op, std::vector<double> const& values) {
                if (!values.empty()) op.attributes = op.attributes.with(attribute, values);
            });
    }
    return section;
}

/// Only the attributes that the op has are written.
Codec<SourceOp> op_codec() {
    auto codec = op_section().codec();
    auto const write = codec.write;
    codec.write = [write](SourceOp const& op) {
        auto map = write(op);
        std::erase_if(map.entries, [](Entry const& entry) {
            return program::find_attribute(entry.key) && entry.value.kind == Value::Kind::list &&
                   entry.value.items.empty();
        });
        return map;
    };
    auto const schema = codec.schema;
    codec.schema = [schema] {
        auto out = schema();
        for (auto& [key, described] : out["properties"].items()) described.erase("default");
        return out;
    };
    return codec;
}

/// Where a part of a program is written.
struct Written {
    Value const& value;
    Place place; ///< of its key, if it has one
    Context at;
};
Written written_entry(Value const& map, std::string const& key, std::size_t index, Context const& at) {
    auto const& entry = map.find(key)->value.entries[index];
    return {entry.value, entry.place, at.in(key).in(entry.key)};
}
Written written_item(Value const& map, std::string const& key, std::size_t index, Context const& at) {
    auto const& item = map.find(key)->value.items[index];
    return {item, item.place, at.in(key).item(index)};
}
Written written_part(Value const& map, SourceProblem const& problem, Context const& at) {
    using enum SourceProblem::Part;
    switch (problem.part) {
    case dim:
        return written_entry(map, "dims", problem.index, at);
    case input:
        return written_entry(map, "inputs", problem.index, at);
    case op:
        return written_item(map, "ops", problem.index, at);
    case output:
        return written_item(map, "outputs", problem.index, at);
    case whole:
        break;
    }
    return {map, map.place, at};
}

/// The first word in `value` that the message quotes.
std::optional<Place> find_mentioned(Value const& value, std::string const& message) {
    auto const is_mentioned = [&](char quote, std::string const& text) {
        return message.find(quote + text + quote) != std::string::npos;
    };
    if (value.kind == Value::Kind::scalar && is_mentioned('\'', value.text)) return value.place;
    for (auto const& entry : value.entries) {
        if (is_mentioned('`', entry.key)) return entry.place;
        if (auto const place = find_mentioned(entry.value, message)) return place;
    }
    for (auto const& item : value.items)
        if (auto const place = find_mentioned(item, message)) return place;
    return std::nullopt;
}

bool check_source(Source const& source, Value const& map, Context const& at) {
    auto const problems = program::check(source);
    for (auto const& problem : problems) {
        auto const part = written_part(map, problem, at);
        auto const word = &part.value == &map ? std::nullopt : find_mentioned(part.value, problem.message);
        at.error(word.value_or(part.place), fmt::format("{}: {}", part.at.name(), problem.message));
    }
    return problems.empty();
}

/// A wrong dtype is reported, and the rest of the program is still checked.
Codec<program::DType> lenient_dtype() {
    Codec<program::DType> codec = dtype_word();
    auto const read = codec.read;
    codec.read = [read](Value const& value, Context const& at) { return read(value, at).value_or(program::DType{}); };
    return codec;
}

Section<Source> source_section() {
    Section<Source> section;
    section.field({"dims", "sizes by name; a name stands for one dimension everywhere"}, &Source::dims, dims_codec())
        .field({"inputs", "tensors that are given, each with its dimensions", "{X: [2, 64], W: [64, 64]}"},
               &Source::inputs, inputs_codec())
        .field({"ops", "what is computed, in order", "[{out: Y, op: matmul, in: [X, W]}]"}, &Source::ops,
               list_of(op_codec()))
        .field({"outputs", "tensors that are wanted", "[Y]"}, &Source::outputs, list_of<std::string>(tensor_name()))
        .field({"dtype", "of all tensors"}, &Source::dtype, lenient_dtype())
        .field({"weights", "inputs that stay the same from call to call; code may have them packed beforehand"},
               &Source::weights, list_of<std::string>(tensor_name()))
        .check(check_source);
    return section;
}

} // namespace

Scalar<program::DType> dtype_word() {
    std::vector<std::pair<std::string, program::DType>> rows;
    for (auto const& row : program::dtypes) rows.emplace_back(row.name, *program::find_dtype(row.name));
    return choice<program::DType>(rows);
}

/// `weights` is written if there are some.
Codec<Source> op_list_codec() {
    auto codec = source_section().codec();
    codec.write = [write = codec.write](Source const& source) {
        auto map = write(source);
        if (source.weights.empty())
            std::erase_if(map.entries, [](Entry const& entry) { return entry.key == "weights"; });
        return map;
    };
    codec.schema = [schema = codec.schema] { // without it there are none, which is not a value that anyone would write
        auto out = schema();
        out["properties"]["weights"].erase("default");
        return out;
    };
    return codec;
}

} // namespace espalier::config
