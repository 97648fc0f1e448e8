#include "espalier/problems/substitution/library.hpp"

#include "espalier/base/error.hpp"

#include <gtest/gtest.h>

#include <algorithm>

using namespace espalier;
using namespace espalier::problems::substitution;
using library::parse_library;

namespace {

constexpr auto text = R"({"version": 1, "space": "affine", "rules": [
  {"key": "a1", "verified": "proved", "condition": "h > 0",
   "inputs": {"x": {"class": "data"}, "h": {"class": "scalar", "rank": 0}, "W": {"class": "weights", "rank": 4, "dims": ["n0", "n1", "3", "3"]}},
   "parameters": [{"of": "h", "is": "positive"}],
   "left": {"operators": [{"op": "clip", "inputs": ["x", "0", "h"], "outputs": ["t1"]}, {"op": "div", "inputs": ["t1", "h"], "outputs": ["t2"]}],
            "outputs": ["t2"]},
   "right": {"operators": [{"op": "div", "inputs": ["1", "h"], "outputs": ["p1"]},
                           {"op": "concat", "inputs": ["x", "p1"], "outputs": ["t1"], "attributes": {"axis": 1}}], "outputs": ["t1"]}}]})";

/// The text with the first `what` made `other`.
std::string changed(std::string_view what, std::string_view other) {
    std::string out = text;
    auto const at = out.find(what);
    EXPECT_NE(at, std::string::npos) << what;
    return out.replace(at, what.size(), other);
}
std::string refusal(std::string const& of) {
    try {
        (void)parse_library(of);
    } catch (base::InputError const& error) {
        return error.what();
    }
    return "nothing";
}

} // namespace

TEST(Library, what_is_written_is_read) {
    auto const read = parse_library(text);

    ASSERT_EQ(read.rules.size(), 1u);
    auto const& rule = read.rules.front();
    EXPECT_EQ(read.space, "affine");
    EXPECT_TRUE(rule.is_proved());
    EXPECT_EQ(rule.inputs.size(), 3u);
    EXPECT_EQ(rule.input("W")->dims.back(), "3");
    EXPECT_EQ(rule.input("h")->kind, library::InputClass::scalar);
    EXPECT_EQ(rule.input("t1"), nullptr);
    EXPECT_EQ(rule.parameters.front().of, "h");
    EXPECT_EQ(to_text(rule.left), "t1 = clip x 0 h; t2 = div t1 h; out t2");
    EXPECT_EQ(rule.right.operators.back().attributes.at("axis"), 1);
    EXPECT_EQ(parse_library(to_json(read).dump()), read);
}

TEST(Library, numbers_are_operands) {
    EXPECT_DOUBLE_EQ(library::number_of("1/6").value(), 1.0 / 6);
    EXPECT_DOUBLE_EQ(library::number_of("-3").value(), -3);
    for (auto const* word : {"x", "t1", "", "1/0", "/", "6x", "1/x"}) EXPECT_FALSE(library::number_of(word)) << word;
}

TEST(Library, a_wrong_rule_is_named_with_what_is_wrong) {
    struct Wrong {
        std::string text;
        std::string words;
    };
    for (auto const& [wrong, words] : {
             Wrong{"{", "not JSON"},
             Wrong{changed("\"version\": 1", "\"version\": 2"), "version 2"},
             Wrong{changed("\"data\"", "\"date\""), "data, scalar, channel, weights"},
             Wrong{changed("\"t2\"]}],", "\"t1\"]}],"), "there already"},
             Wrong{changed("[\"x\", \"0\"", "[\"y\", \"0\""), "clip reads y"},
             Wrong{changed("\"of\": \"h\"", "\"of\": \"c\""), "speaks of c"},
             Wrong{changed("\"verified\": \"proved\", ", ""), "verified is missing"},
             Wrong{changed("[\"t2\"]},\n", "[\"t2\", \"t1\"]},"), "different outputs"},
             Wrong{changed("{\"axis\": 1}", "{\"axis\": \"one\"}"), "axis of concat"},
         }) {
        auto const told = refusal(wrong);
        EXPECT_NE(told.find(words), std::string::npos) << told;
        auto const is_of_a_rule = words != "not JSON" && words != "version 2";
        EXPECT_EQ(told.find("a1") != std::string::npos, is_of_a_rule) << told;
    }
}

TEST(Library, the_default_one_has_proved_rules_only) {
    auto const& rules = default_library().rules;

    EXPECT_GT(rules.size(), 100u);
    for (auto const& rule : rules) EXPECT_TRUE(rule.is_proved()) << rule.key;
    auto const is_hard_swish = [](library::Rule const& rule) {
        return to_text(rule.left) == "t1 = add x 3; t2 = clip t1 0 6; t3 = mul x t2; t4 = div t3 6; out t4" &&
               to_text(rule.right) == "t1 = hard_swish x; out t1";
    };
    EXPECT_TRUE(std::ranges::any_of(rules, is_hard_swish));
}
