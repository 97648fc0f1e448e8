#include "espalier/config/program_schema.hpp"

#include "espalier/config/section.hpp"
#include "espalier/config/suggest.hpp"
#include "op_list.hpp"

#include "espalier/base/error.hpp"

#include <fmt/core.h>

#include <algorithm>

namespace espalier::config {
namespace {

using program::Builtin;
using program::Source;

constexpr std::int64_t max_size = std::int64_t{1} << 31;
KeyInfo const builtin_key{"builtin", "a program by name, with its sizes beside it", "rmsnorm_linear"};
KeyInfo const dtype_key{"dtype", "of all tensors"};
KeyInfo const variant_key{"variant", "which spelling of the program"};

/// What a built-in program is made from; the members of the sizes are those of its keys.
struct BuiltinSizes {
    std::vector<std::int64_t> sizes;
    program::DType dtype = program::DType::f16;
};

std::vector<std::string> variant_names(Builtin const& builtin) {
    std::vector<std::string> out;
    for (auto const& variant : builtin.variants) out.emplace_back(variant.name);
    return out;
}

Section<BuiltinSizes> sizes_section(Builtin const& builtin) {
    Section<BuiltinSizes> section;
    for (std::size_t i = 0; i < builtin.keys.size(); ++i) {
        auto const& key = builtin.keys[i];
        Codec<std::int64_t> const size = integer<std::int64_t>({key.default_size > 0 ? 1 : 0, max_size});
        auto const otherwise = key.default_size;
        section.field(
            {std::string(key.name), std::string(key.description)}, size,
            [i, otherwise](BuiltinSizes const& all) { return i < all.sizes.size() ? all.sizes[i] : otherwise; },
            [i](BuiltinSizes& all, std::int64_t one) { all.sizes[i] = one; });
    }
    if (!builtin.variants.empty()) {
        auto const at = builtin.keys.size();
        Codec<std::size_t> const words = word(variant_names(builtin));
        section.field(
            variant_key, words,
            [at](BuiltinSizes const& all) {
                return at < all.sizes.size() ? static_cast<std::size_t>(all.sizes[at]) : 0;
            },
            [at](BuiltinSizes& all, std::size_t one) {
                all.sizes.resize(at);
                if (one > 0) all.sizes.push_back(static_cast<std::int64_t>(one));
            });
    }
    section.field(dtype_key, &BuiltinSizes::dtype, dtype_word()).tag(builtin_key, std::string(builtin.name));
    return section;
}

BuiltinSizes default_sizes(Builtin const& builtin) {
    BuiltinSizes out;
    for (auto const& key : builtin.keys) out.sizes.push_back(key.default_size);
    return out;
}

std::vector<std::string> builtin_names() {
    std::vector<std::string> out;
    for (auto const& builtin : program::builtins()) out.emplace_back(builtin.name);
    return out;
}

/// A line of the error says `gqa.kv_heads: what is wrong`; the key tells the place.
void report_line(std::string_view line, Value const& map, Context const& at) {
    auto const colon = std::min(line.find(": "), line.size());
    auto const dot = line.substr(0, colon).rfind('.');
    auto const key = dot == std::string_view::npos ? std::string_view{} : line.substr(dot + 1, colon - dot - 1);
    auto const* entry = map.find(key);
    auto const message = key.empty() ? line : line.substr(std::min(colon + 2, line.size()));
    at.error(entry ? entry->value.place : map.place,
             fmt::format("{}: {}", (key.empty() ? at : at.in(key)).name(), message));
}

std::optional<Source> make_source(Builtin const& builtin, BuiltinSizes const& sizes, Value const& map,
                                  Context const& at) {
    try {
        auto source = builtin.make(sizes.sizes);
        source.dtype = sizes.dtype;
        auto const problems = program::check(source);
        for (auto const& problem : problems) at.error(map.place, fmt::format("{}: {}", at.name(), problem.message));
        return problems.empty() ? std::optional(source) : std::nullopt;
    } catch (base::InputError const& error) {
        std::string_view lines = error.what();
        while (!lines.empty()) {
            auto const length = std::min(lines.find('\n'), lines.size());
            report_line(lines.substr(0, length), map, at);
            lines.remove_prefix(std::min(length + 1, lines.size()));
        }
        return std::nullopt;
    }
}

std::optional<ProgramChoice> read_builtin(Value const& map, Value const& name, Context const& at) {
    auto const index = read_scalar(word(builtin_names()), name, at.in(builtin_key.name));
    if (!index) return std::nullopt;
    auto const& builtin = program::builtins()[*index];
    auto const sizes = sizes_section(builtin).read(map, at, default_sizes(builtin));
    auto const source = sizes ? make_source(builtin, *sizes, map, at) : std::nullopt;
    if (!source) return std::nullopt;
    return ProgramChoice{*source, std::string(builtin.name), sizes->sizes};
}

std::optional<ProgramChoice> read_program(Value const& map, Context const& at) {
    if (!expect_map(map, at)) return std::nullopt;
    if (auto const* entry = map.find(builtin_key.name)) return read_builtin(map, entry->value, at);
    if (!map.find("inputs") && !map.find("ops") && !map.find("outputs")) {
        auto info = builtin_key;
        info.help += ", or inputs, ops and outputs of your own";
        report_missing_key(map, info, at);
        return std::nullopt;
    }
    auto source = op_list_codec().read(map, at);
    return source ? std::optional(ProgramChoice{std::move(*source), "", {}}) : std::nullopt;
}

Value write_program(ProgramChoice const& choice) {
    auto const* builtin = program::find_builtin(choice.builtin);
    if (!builtin) return op_list_codec().write(choice.source);
    return sizes_section(*builtin).write({choice.sizes, choice.source.dtype});
}

base::Json program_schema() {
    auto all = base::Json::array();
    for (auto const& builtin : program::builtins()) {
        auto one = sizes_section(builtin).schema();
        one["description"] = builtin.description;
        all.push_back(one);
    }
    all.push_back(op_list_codec().schema());
    return {{"oneOf", all}};
}

/// Axes count from the end; the last one is the default.
program::Attributes canonical_attributes(program::Attributes const& attributes, int rank) {
    using program::AttributeName;
    program::Attributes out;
    for (auto const& [name, values] : attributes.items()) {
        if (program::is_in_words(name)) continue;
        if (name != AttributeName::axis) {
            out = out.with(name, values);
            continue;
        }
        auto const axis = attributes.whole(name, -1);
        auto const from_end = axis < 0 ? axis : axis - rank;
        if (from_end != -1) out = out.with(name, from_end);
    }
    return out;
}

/// With numbers for names.
std::vector<program::AttributeWords> canonical_words(program::Attributes const& attributes) {
    std::vector<program::AttributeWords> out;
    for (auto const& [name, values] : attributes.items()) {
        if (!program::is_in_words(name)) continue;
        auto& words = out.emplace_back(program::AttributeWords{name, {}}).words;
        for (auto const value : values) words.push_back(fmt::format("{}", value));
    }
    return out;
}

/// `t0`, `t1` and so on, or with more of the letter if an input has such a name.
std::string result_prefix(Source const& source) {
    std::string prefix = "t";
    auto const is_taken = [&](program::SourceInput const& input) { return input.name.starts_with(prefix); };
    while (std::ranges::any_of(source.inputs, is_taken)) prefix += 't';
    return prefix;
}

} // namespace

Codec<ProgramChoice> program_codec() { return {read_program, write_program, program_schema}; }

Source canonical_source(Source const& source) {
    auto const graph = program::build(source);
    auto const tensors = program::infer(graph);
    auto const prefix = result_prefix(source);
    auto const first = static_cast<int>(graph.inputs.size());
    auto const name_of = [&](program::TensorId id) {
        return id.value < first ? graph.inputs[static_cast<std::size_t>(id.value)].name
                                : fmt::format("{}{}", prefix, id.value - first);
    };
    Source out{.dtype = source.dtype, .dims = source.dims, .inputs = source.inputs};
    for (auto const& op : graph.ops) {
        program::TensorId const id{first + static_cast<int>(out.ops.size())};
        auto const rank = tensors[op.inputs.front()].shape.rank();
        auto& one = out.ops.emplace_back();
        one = {{name_of(id)},
               std::string(info(op.code).name),
               {},
               canonical_attributes(op.attributes, rank),
               canonical_words(op.attributes)};
        for (auto const input : op.inputs) one.in.push_back(name_of(input));
    }
    for (auto const id : graph.outputs) out.outputs.push_back(name_of(id));
    return out;
}

} // namespace espalier::config
