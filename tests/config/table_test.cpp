#include "../../src/config/kinds.hpp"
#include "../../src/config/yaml_reader.hpp"

#include "espalier/config/alternatives.hpp"

#include "espalier/config/load.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

/// The mechanism of the tables with toy sections: nesting, lists, alternatives, own checks.
namespace espalier::config {
namespace {

struct Op {
    std::string name;
    std::vector<std::string> inputs;

    bool operator==(Op const&) const = default;
};
struct Program {
    std::vector<Op> ops;
    std::int32_t size = 4;

    bool operator==(Program const&) const = default;
};
struct Named {
    std::string name;
    Program program;

    bool operator==(Named const&) const = default;
};
struct Other {
    bool is_on = false;

    bool operator==(Other const&) const = default;
};

bool check_inputs(Op const& op, Value const& map, Context const& at) {
    if (!op.inputs.empty()) return true;
    at.error(map.find("in")->value.place, at.name() + " has no inputs");
    return false;
}

Section<Op> op_section() {
    Section<Op> section;
    section
        .field({"op", "which operator", "matmul"}, &Op::name,
               choice<std::string>({{"matmul", "matmul"}, {"exp", "exp"}}))
        .field({"in", "operands", "[X, W]"}, &Op::inputs, list_of<std::string>(text()))
        .check(check_inputs);
    return section;
}

Section<Program> program_section() {
    Section<Program> section;
    section.field({"ops", "operators"}, &Program::ops, list_of(op_section().codec()))
        .field({"size", "of a side"}, &Program::size, integer<std::int32_t>({1, 8}));
    return section;
}

Scalar<Named> program_name() {
    auto parse = [](Value const& value) -> Parsed<Named> {
        if (value.text != "norm") return Refusal{};
        return Named{"norm", {{{"exp", {"X"}}}, 2}};
    };
    auto write = [](Named const& named) { return named.name.empty() ? Value{} : make_text(named.name); };
    return {"norm or a map", parse, write, {{"const", "norm"}}};
}

Section<Named> named_section() {
    Section<Named> section;
    auto const codec = word_or_section(program_name(), program_section(), &Named::program);
    section.field(
        {"program", "by name or in full"}, codec, [](Named const& named) { return named; },
        [](Named& out, Named const& named) { out = named; });
    return section;
}

Section<Other> other_section() {
    Section<Other> section;
    section.field({"is_on", "a switch"}, &Other::is_on, flag());
    return section;
}

ProblemSectionOf<Named> const& named() {
    static ProblemSectionOf<Named> const section({"named", "{kind: named}", "named.yaml", {}}, named_section());
    return section;
}
ProblemSectionOf<Other> const& other() {
    static ProblemSectionOf<Other> const section({"other", "{kind: other}", "other.yaml", {}}, other_section());
    return section;
}
Codec<ProblemConfig> kinds() { return kind_codec({&named(), &other()}); }

template <class T>
T read(Codec<T> const& codec, std::string const& text) {
    Diagnostics diagnostics("toy.yaml", text);
    Context const at(diagnostics);
    auto const value = read_yaml(text, 0, at);
    auto const out = value ? codec.read(*value, at) : std::nullopt;
    diagnostics.throw_if_any();
    return *out;
}

template <class T>
std::string errors(Codec<T> const& codec, std::string const& text) {
    try {
        (void)read(codec, text);
    } catch (ConfigError const& error) {
        return error.what();
    }
    return "";
}

TEST(Table, sections_and_lists_nest) {
    auto const program = read(program_section().codec(), "ops: [{op: matmul, in: [X, W]}, {op: exp, in: [Y]}]\n");

    EXPECT_EQ(program, (Program{{{"matmul", {"X", "W"}}, {"exp", {"Y"}}}, 4}));
}

TEST(Table, an_error_in_a_list_names_its_item_and_all_items_are_read) {
    EXPECT_EQ(errors(program_section().codec(), "ops:\n- {op: matmull, in: [X]}\n- {op: exp, in: []}\n- 3\n"),
              "toy.yaml:2:8: error: 'ops[0].op' must be one of matmul, exp, not 'matmull'; did you mean 'matmul'?\n"
              "- {op: matmull, in: [X]}\n"
              "       ^\n"
              "toy.yaml:3:17: error: 'ops[1]' has no inputs\n"
              "- {op: exp, in: []}\n"
              "                ^\n"
              "toy.yaml:4:3: error: 'ops[2]' must be a map of keys, not '3'\n"
              "- 3\n"
              "  ^");
}

TEST(Table, a_scalar_where_a_list_belongs_is_refused) {
    EXPECT_EQ(errors(program_section().codec(), "ops: 3\n"),
              "toy.yaml:1:6: error: 'ops' must be a list, not '3'\nops: 3\n     ^");
}

TEST(Table, an_alternative_is_read_by_name_or_in_full) {
    EXPECT_EQ(read(named_section().codec(), "program: norm\n").program.size, 2);
    EXPECT_EQ(read(named_section().codec(), "program: {size: 8}\n"), (Named{"", {{}, 8}}));
    EXPECT_THAT(errors(named_section().codec(), "program: nrom\n"),
                ::testing::HasSubstr("must be norm or a map, not 'nrom'"));
}

TEST(Table, the_kind_selects_the_section) {
    EXPECT_EQ(read(kinds(), "kind: other\nis_on: true\n"), other().hold({true}));
    EXPECT_EQ(read(kinds(), "kind: named\nprogram: norm\n"), named().hold({"norm", {{{"exp", {"X"}}}, 2}}));
    EXPECT_THAT(errors(kinds(), "kind: other\nprogram: norm\n"),
                ::testing::StartsWith("toy.yaml:2:1: error: unknown key 'program'; known keys: kind, is_on\n"));
    EXPECT_EQ(kind_of(other().hold({})), "other");
    EXPECT_THAT(errors(kinds(), "is_on: true\n"), ::testing::HasSubstr("kind: named"));
    EXPECT_THAT(errors(kinds(), "kind: othr\n"), ::testing::HasSubstr("did you mean 'other'?"));
}

TEST(Table, what_is_written_reads_back) {
    for (auto const& value : {other().hold({true}), named().hold({"norm", {{{"exp", {"X"}}}, 2}}),
                              named().hold({"", {{{"matmul", {"a b", "null", "3"}}, {"exp", {"\"\n"}}}, 8}})}) {
        EXPECT_EQ(read(kinds(), to_block(kinds().write(value))), value);
        EXPECT_EQ(read(kinds(), to_flow(kinds().write(value))), value);
    }
}

TEST(Table, the_schema_has_one_alternative_a_kind_and_describes_lists) {
    auto const schema = kinds().schema();

    ASSERT_EQ(schema["oneOf"].size(), 2u);
    EXPECT_EQ(schema["oneOf"][1]["properties"]["kind"]["const"], "other");
    EXPECT_EQ(schema["oneOf"][1]["required"], base::Json::array({"kind"}));
    auto const ops = program_section().schema()["properties"]["ops"];
    EXPECT_EQ(ops["type"], "array");
    EXPECT_EQ(ops["items"]["properties"]["in"]["items"]["type"], "string");
}

} // namespace
} // namespace espalier::config
