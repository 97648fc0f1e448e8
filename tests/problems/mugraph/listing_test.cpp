#include "espalier/problems/mugraph/listing.hpp"

#include "espalier/program/source.hpp"
#include "espalier/program/text.hpp"
#include "programs.hpp"

#include <gmock/gmock.h>

/// Which programs a list has: the best of each form, unless it is slower than the input.
namespace espalier::problems::mugraph {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

MugraphConfig square_root_of_square() {
    MugraphConfig config;
    config.program.dims = {{"B", 4}, {"K", 8}};
    config.program.inputs = {{"X", {"B", "K"}}};
    config.program.ops = {{{"s"}, "square", {"X"}, {}}, {{"O"}, "sqrt", {"s"}, {}}};
    config.program.outputs = {"O"};
    return config;
}

/// A stored program of a form. Lists do not compare the text with the key.
search::ResultRecord record(std::uint64_t key, std::uint64_t form, double cost) {
    search::ResultRecord out;
    out.key = key;
    out.text = program::to_text(program::build(square_root_of_square().program));
    out.verification = search::Verification::proved;
    out.cost = cost;
    auto const details = fmt::format(R"({{"scope": "full", "sampled_elements": 4, "form": {}}})", form);
    auto const bytes = std::as_bytes(std::span(details));
    out.payload.assign(bytes.begin(), bytes.end());
    return out;
}

/// Forms 7, 8 and 9 with 2, 3 and 1 schedules, the cheapest first; costs are multiples of the input's.
Records three_forms(double unit) {
    return {record(0xa1, 7, 0.5 * unit), record(0xb1, 8, 0.6 * unit), record(0xb2, 8, 0.7 * unit),
            record(0xa2, 7, 1.0 * unit), record(0xc1, 9, 1.1 * unit), record(0xb3, 8, 1.5 * unit)};
}

std::vector<std::string> keys_of(std::string const& table) {
    std::vector<std::string> out;
    for (std::size_t at = table.find("  00000000"); at != std::string::npos; at = table.find("  00000000", at + 1))
        out.push_back(table.substr(at + 16, 2));
    return out;
}

TEST(Listing, forms_have_their_schedules_and_the_cheapest_of_them) {
    auto const forms = forms_json(three_forms(1));

    EXPECT_EQ(forms, base::Json::parse(R"([{"form": "0000000000000007", "schedules": 2, "best": "00000000000000a1"},
                                           {"form": "0000000000000008", "schedules": 3, "best": "00000000000000b1"},
                                           {"form": "0000000000000009", "schedules": 1, "best": "00000000000000c1"}])"));
    EXPECT_EQ(forms_json({}), base::Json::array());
}

TEST(Listing, a_table_has_a_row_per_form_and_hides_what_is_slower_than_the_input) {
    auto const config = square_root_of_square();
    auto const list = three_forms(input_cost(config));

    auto const text = results_text(config, list, 10);

    EXPECT_THAT(keys_of(text), ElementsAre("a1", "b1"));
    EXPECT_THAT(text, AllOf(HasSubstr("schedules"), HasSubstr("1 form is slower than the input (--all lists it)")));
    EXPECT_THAT(text, Not(HasSubstr("more")));
    EXPECT_THAT(results_text(config, list, 1), HasSubstr("1 more form (--top 2 shows all)"));
    EXPECT_THAT(keys_of(results_text(config, list, 1)), ElementsAre("a1"));
}

TEST(Listing, all_has_every_program) {
    auto const config = square_root_of_square();
    auto const list = three_forms(input_cost(config));

    EXPECT_THAT(keys_of(all_results_text(config, list, 0)), ElementsAre("a1", "b1", "b2", "a2", "c1", "b3"));
    EXPECT_THAT(keys_of(all_results_text(config, list, 5)), ElementsAre("a1", "b1", "b2", "a2", "c1"));
    EXPECT_THAT(all_results_text(config, list, 5), HasSubstr("1 more (--top 6 shows all)"));
    EXPECT_THAT(all_results_text(config, list, 5), Not(HasSubstr("schedules")));
}

/// A form as fast as the input is not slower.
TEST(Listing, as_fast_as_the_input_is_listed) {
    auto const config = square_root_of_square();

    EXPECT_THAT(keys_of(results_text(config, {record(0xa1, 7, input_cost(config))}, 0)), ElementsAre("a1"));
}

TEST(Listing, if_everything_is_slower_one_line_says_so) {
    auto const config = square_root_of_square();
    auto const list = three_forms(3 * input_cost(config));

    auto const text = results_text(config, list, 10);

    EXPECT_THAT(text, AllOf(HasSubstr("all 6 programs are slower than the input"), HasSubstr("--all")));
    EXPECT_EQ(std::ranges::count(text, '\n'), 2); // and an empty line before it
    EXPECT_THAT(results_text(config, {record(0xa1, 7, 1e9)}, 10), HasSubstr("the only program is slower"));
    EXPECT_THAT(listed(config, list, 10).note, HasSubstr("--all"));
    EXPECT_THAT(listed(config, list, 10).rows, IsEmpty());
    EXPECT_THAT(results_text(config, {}, 10), IsEmpty());
}

TEST(Listing, a_page_lists_what_the_table_does_with_ranks_among_all) {
    auto const config = square_root_of_square();
    auto const list = three_forms(input_cost(config));

    auto const [rows, note] = listed(config, list, 0);

    ASSERT_EQ(rows.size(), 2u);
    EXPECT_EQ(rows[0]["id"], 1);
    EXPECT_EQ(rows[0]["schedules"], 2);
    EXPECT_EQ(rows[1]["id"], 2);
    EXPECT_EQ(rows[1]["schedules"], 3);
    EXPECT_THAT(note, AllOf(HasSubstr("2 algebraic forms"), HasSubstr("6 programs"), HasSubstr("1 form is slower")));
    EXPECT_EQ(listed(config, list, 1).rows.size(), 1u);
}

} // namespace
} // namespace espalier::problems::mugraph
