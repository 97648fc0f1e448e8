#include "espalier/problems/mugraph/listing.hpp"

#include "code.hpp"
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

/// The same program with the result of measuring it; the input took 2 ms.
search::ResultRecord with_times(search::ResultRecord record, std::string const& verdict, double ms = 0) {
    auto details = base::Json::parse(reinterpret_cast<char const*>(record.payload.data()),
                                     reinterpret_cast<char const*>(record.payload.data() + record.payload.size()));
    base::Json times{{"verdict", verdict},
                     {"checked", ms > 0},
                     {"machine", {{"cpu", "A CPU"}, {"host", "elsewhere"}, {"cores", 2}, {"compiler", "c++"}}}};
    if (ms > 0)
        times.update({{"ms", ms},
                      {"ci_ms", {0.9 * ms, 1.1 * ms}},
                      {"input_ms", 2},
                      {"input_ci_ms", {1.8, 2.2}},
                      {"threads", 2}});
    details["measured"] = times;
    auto const text = details.dump();
    auto const bytes = std::as_bytes(std::span(text));
    record.payload.assign(bytes.begin(), bytes.end());
    return record;
}

std::vector<std::uint64_t> keys_of(Records const& records) {
    std::vector<std::uint64_t> out;
    for (auto const& one : records) out.push_back(one.key);
    return out;
}

TEST(WorthMeasuring, the_cheapest_of_each_form_comes_before_other_schedules) {
    EXPECT_THAT(keys_of(worth_measuring(three_forms(1), 2)), ElementsAre(0xa1, 0xb1));
    EXPECT_THAT(keys_of(worth_measuring(three_forms(1), 4)), ElementsAre(0xa1, 0xb1, 0xc1, 0xb2));
    EXPECT_THAT(keys_of(worth_measuring(three_forms(1), 100)), ElementsAre(0xa1, 0xb1, 0xc1, 0xb2, 0xa2, 0xb3));
    EXPECT_THAT(worth_measuring(three_forms(1), 0), IsEmpty());
    EXPECT_THAT(worth_measuring({}, 5), IsEmpty());
}

TEST(WorthMeasuring, programs_with_a_time_or_a_verdict_are_not_measured_again) {
    auto list = three_forms(1);
    list[0] = with_times(list[0], "faster", 1);
    list[1] = with_times(list[1], "wrong");

    EXPECT_THAT(keys_of(worth_measuring(list, 3)), ElementsAre(0xc1));
}

TEST(MeasuredTimes, order_measured_programs_and_wrong_ones_come_last) {
    auto list = three_forms(1);
    list[0] = with_times(list[0], "wrong");
    list[1] = with_times(list[1], "slower", 4);
    list[2] = with_times(list[2], "faster", 1);
    list[3] = with_times(list[3], "crashed");

    sort_by_times(list);

    EXPECT_THAT(keys_of(list), ElementsAre(0xb2, 0xb1, 0xa2, 0xc1, 0xb3, 0xa1));
}

TEST(MeasuredTimes, decide_which_forms_are_listed_and_the_last_line_gives_the_speed_up) {
    auto const config = square_root_of_square();
    auto list = three_forms(input_cost(config));
    list[0] = with_times(list[0], "slower", 8);
    list[4] = with_times(list[4], "faster", 1); // the model says slower
    sort_by_times(list);

    auto const text = results_text(config, list, 10);

    EXPECT_THAT(keys_of(text), ElementsAre("c1", "b1"));
    EXPECT_THAT(text, HasSubstr("\nprogram 1 is 2.00x as fast as the input on elsewhere (1 ms instead of 2 ms)\n"));
    EXPECT_TRUE(text.ends_with("2 ms)\n"));
}

TEST(MeasuredTimes, within_the_noise_are_not_a_gain) {
    auto const config = square_root_of_square();
    auto list = three_forms(input_cost(config));
    list[0] = with_times(list[0], "within the noise", 1.9);

    EXPECT_THAT(results_text(config, list, 10),
                HasSubstr("no program that was measured is faster than the input beyond the noise on elsewhere\n"));
    EXPECT_THAT(results_text(config, three_forms(input_cost(config)), 10), Not(HasSubstr("faster than the input")));
}

TEST(MeasuredTimes, are_counted_in_the_funnel_and_so_are_failures) {
    auto list = three_forms(1);
    list[0] = with_times(list[0], "faster", 1);
    list[1] = with_times(list[1], "timed out");
    list[2] = with_times(list[2], "timed out");
    list[3] = with_times(list[3], "wrong");

    auto const rows = funnel({}, {}, list);

    auto const count = [&](std::string const& name, bool is_kept) {
        auto const found = std::ranges::find(rows, name, &search::FunnelRow::name);
        return found != rows.end() && found->is_kept == is_kept ? found->count : 0;
    };
    EXPECT_EQ(count("measured", true), 1u);
    EXPECT_EQ(count("timed out", false), 2u);
    EXPECT_EQ(count("wrong", false), 1u);
    EXPECT_EQ(funnel({}, {}, three_forms(1)).back().name, "proved");
}

TEST(MeasuredTimes, are_shared_between_runs_by_what_was_executed) {
    auto const config = square_root_of_square();
    auto const measured = with_times(record(0xa1, 7, 1), "faster", 1), fresh = record(0xa1, 7, 1);

    auto const time = time_in(config, measured);

    ASSERT_TRUE(time.has_value());
    EXPECT_EQ(time->key.what, time_key(config, fresh, {.threads = 2})->what);
    EXPECT_EQ(time->key.machine, "A CPU");
    EXPECT_EQ(remembered_program(fresh, *time)->payload, measured.payload);
    EXPECT_EQ(time_in(config, fresh), std::nullopt);
    EXPECT_EQ(time_in(config, with_times(fresh, "crashed")), std::nullopt) << "what failed is tried again";
    EXPECT_EQ(time_key(config, fresh, {.target = "opencl"}), std::nullopt);
    auto other = config;
    other.program.dims[0].size = 8;
    EXPECT_NE(time_key(other, fresh, {})->what, time_key(config, fresh, {})->what) << "compared with another input";
    auto damaged = *time;
    damaged.details = "{}";
    EXPECT_EQ(remembered_program(fresh, damaged), std::nullopt);
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
