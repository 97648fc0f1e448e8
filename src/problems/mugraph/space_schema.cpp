#include "espalier/config/alternatives.hpp"
#include "mugraph_schema.hpp"

#include <fmt/core.h>

#include <algorithm>

namespace espalier::problems::mugraph {

using namespace config; // the words of the table below

namespace {

using Space = SpaceConfig;
using program::OpCode;

constexpr std::int64_t max_count = 1'000'000'000;
constexpr auto most_ops = 64;

template <class T>
Scalar<T> auto_or_number(T high) {
    return or_word<T>("auto", 0, integer<T>({1, high}));
}

/// `auto`, which is the empty list, or a list that is not empty. Its order does not matter; it is kept sorted.
template <class T>
Codec<std::vector<T>> auto_or_list(Scalar<T> const& item) {
    auto const list = shared(list_of<T>(item));
    auto const expected = fmt::format("auto or a list of {}", item.expected);
    auto const is_auto = [](Value const& value) { return value.kind == Value::Kind::scalar && value.text == "auto"; };
    auto const read = [=](Value const& value, Context const& at) -> std::optional<std::vector<T>> {
        if (is_auto(value)) return std::vector<T>{};
        if (value.kind != Value::Kind::list || value.items.empty()) {
            auto const there = value.kind == Value::Kind::list ? "an empty list" : name_of(value);
            at.error(value.place, fmt::format("{} must be {}, not {}", at.name(), expected, there));
            return std::nullopt;
        }
        auto all = list->read(value, at);
        if (!all) return std::nullopt;
        std::ranges::sort(*all);
        all->erase(std::unique(all->begin(), all->end()), all->end());
        return all;
    };
    auto const write = [=](std::vector<T> const& all) { return all.empty() ? make_plain("auto") : list->write(all); };
    auto const schema = [=] {
        auto some = list->schema();
        some["minItems"] = 1;
        return base::Json{{"anyOf", base::Json::array({{{"const", "auto"}}, some})}};
    };
    return {read, write, schema};
}

Scalar<OpCode> op_at(program::Level level) {
    std::vector<std::pair<std::string, OpCode>> rows;
    for (auto const& row : program::op_table())
        if (row.at[static_cast<std::size_t>(level)] && row.code != OpCode::graph) rows.emplace_back(row.name, row.code);
    return choice<OpCode>(rows);
}

Scalar<Space::Preset> preset() {
    return choice<Space::Preset>({{"full", Space::Preset::full}, {"mirage", Space::Preset::mirage}});
}
Scalar<Space::Setting> setting() {
    return choice<Space::Setting>({{"auto", Space::Setting::automatic},
                                   {"plain", Space::Setting::plain},
                                   {"attention", Space::Setting::attention},
                                   {"lora", Space::Setting::lora}});
}
Scalar<Space::Schedules> schedules() {
    return choice<Space::Schedules>(
        {{"auto", Space::Schedules::automatic}, {"all", Space::Schedules::all}, {"best", Space::Schedules::best}});
}

struct BlockRange {
    std::int64_t min = 0;
    std::int64_t max = 0;
};
bool check_blocks(BlockRange const& blocks, Value const& map, Context const& at) {
    if (blocks.max == 0 || blocks.min <= blocks.max) return true;
    at.error(map.place, fmt::format("{} has min = {} above max = {}: no grid has so many blocks", at.name(), blocks.min,
                                    blocks.max));
    return false;
}
Section<BlockRange> blocks_section() {
    Section<BlockRange> section;
    section.field({"min", "fewest blocks of a grid"}, &BlockRange::min, auto_or_number(max_count))
        .field({"max", "most blocks of a grid"}, &BlockRange::max, auto_or_number(max_count))
        .check(check_blocks);
    return section;
}

bool is_mirage(Space const& space) { return space.from == Space::Preset::mirage; }
bool has_auto_loops(Space const& space) { return space.loops.empty(); }

void add_limits(Section<Space>& section) {
    section
        .field({"max_kernel_ops", "ops of a program at kernel level"}, &Space::max_kernel_ops,
               auto_or_number<std::int32_t>(most_ops))
        .field({"max_block_ops", "ops of a graph-defined kernel"}, &Space::max_block_ops,
               auto_or_number<std::int32_t>(most_ops))
        .field({"max_graph_kernels", "graph-defined kernels of a program"}, &Space::max_graph_kernels,
               auto_or_number<std::int32_t>(most_ops))
        .field({"max_outputs", "outputs of a graph-defined kernel"}, &Space::max_outputs,
               auto_or_number<std::int32_t>(most_ops))
        .field({"count_inputs", "whether limits of ops count inputs too"}, &Space::count_inputs, or_auto(flag()));
}

void add_schedules(Section<Space>& section) {
    section
        .field({"loops", "ranges of for-loops, besides 1; auto in the full space: every divisor, and others where no "
                         "divisor is useful"},
               &Space::loops, auto_or_list(integer<std::int64_t>({1, max_count})))
        .field({"max_loop", "largest range of a for-loop"}, &Space::max_loop, auto_or_number(max_count))
        .only_if(has_auto_loops, "where loops are auto")
        .field({"tiles", "sizes that a grid may leave of a dimension"}, &Space::tiles,
               auto_or_list(integer<std::int64_t>({1, max_count})))
        .field(
            {"blocks", "how many blocks a grid has"}, blocks_section().codec(),
            [](Space const& space) {
                return BlockRange{space.min_blocks, space.max_blocks};
            },
            [](Space& space, BlockRange const& blocks) {
                space.min_blocks = blocks.min;
                space.max_blocks = blocks.max;
            })
        .field({"grid_dims", "axes of a grid"}, &Space::grid_dims, auto_or_number<std::int32_t>(3))
        .field({"threads", "of a block"}, &Space::threads, auto_or_number<std::int64_t>(1024))
        .field({"schedules", "of a form that was found: all legal ones, or the cheapest; auto: the cheapest, but all "
                             "in Mirage's space"},
               &Space::schedules, schedules());
}

void add_memory_and_ops(Section<Space>& section) {
    section
        .field({"shared_memory", "the most that a block may use; auto in the full space: what the hardware has"},
               &Space::shared_memory_bytes, or_word<std::uint64_t>("auto", 0, size_bytes({1024, 1ull << 40})))
        .field({"liveness", "whether a tile frees its memory after its last reader"}, &Space::liveness, or_auto(flag()))
        .field({"unsafe_softmax", "whether exp(x) may stand where the program has only exp(x - max(x))"},
               &Space::unsafe_softmax, or_auto(flag()))
        .field({"kernel_ops", "library kernels that are tried"}, &Space::kernel_ops,
               auto_or_list(op_at(program::Level::kernel)))
        .field({"block_ops", "ops that are tried in graph-defined kernels"}, &Space::block_ops,
               auto_or_list(op_at(program::Level::block)));
}

Section<Space> space_section() {
    Section<Space> section;
    section.field({"from", "where every key that is auto gets its value"}, &Space::from, preset())
        .field({"setting", "special cases of Mirage's space; auto: by the program"}, &Space::setting, setting())
        .only_if(is_mirage, "for the mirage space");
    add_limits(section);
    add_schedules(section);
    add_memory_and_ops(section);
    return section;
}

/// A preset as it is.
Scalar<Space> space_name() {
    auto const words = preset();
    auto parse = [words](Value const& value) -> Parsed<Space> {
        auto const from = words.parse(value);
        if (auto const* problem = std::get_if<Refusal>(&from)) return *problem;
        return Space{.from = std::get<Space::Preset>(from)};
    };
    auto write = [words](Space const& space) {
        return space == Space{.from = space.from} ? words.write(space.from) : Value{};
    };
    return {words.expected + " or a map of keys", parse, write, words.schema};
}

} // namespace

Codec<Space> space_codec() { return word_or_section(space_name(), space_section(), std::identity{}); }

} // namespace espalier::problems::mugraph
