#include "samples.hpp"

#include "espalier/base/json.hpp"

#include <gmock/gmock.h>

#include <cctype>
#include <map>
#include <sstream>

namespace espalier::analysis::exports::testing {
namespace {

using base::Json;
using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;

/// protoc's text of a message; every field is a list. Values stay text, without quotes.
Json read_message(std::istream& in) {
    Json message = Json::object();
    for (std::string line; std::getline(in, line);) {
        auto const from = line.find_first_not_of(' ');
        if (line[from] == '}') return message;
        auto const colon = line.find_first_of(":{", from);
        auto const key = line.substr(from, line.find_last_not_of(' ', colon - 1) + 1 - from);
        if (line[colon] == '{') {
            message[key].push_back(read_message(in));
            continue;
        }
        auto value = line.substr(colon + 2);
        if (value.front() == '"') value = value.substr(1, value.size() - 2);
        message[key].push_back(value);
    }
    return message;
}

bool has_unknown_fields(Json const& value) {
    if (value.is_array()) return std::ranges::any_of(value, has_unknown_fields);
    if (!value.is_object()) return false;
    for (auto const& [key, inner] : value.items())
        if (std::isdigit(static_cast<unsigned char>(key.front())) || has_unknown_fields(inner)) return true;
    return false;
}

/// Decoded by protoc with the published field numbers.
Json decode(std::filesystem::path const& file) {
    auto const schema = std::filesystem::path(ESPALIER_SOURCE_DIR) / "tests/analysis/exports";
    auto const ran =
        run_tool("protoc --decode=perfetto.Trace -I'" + schema.string() + "' perfetto.proto <'" + file.string() + "'");
    EXPECT_EQ(ran.status, 0) << ran.output;
    std::istringstream in(ran.output);
    return read_message(in);
}

class Perfetto : public ::testing::Test {
protected:
    void SetUp() override {
        if (!has_tool("protoc")) GTEST_SKIP() << "protoc is missing: install protobuf-compiler";
    }
    Json exported(Window const& window = {}) {
        auto source = make_run(folder_.path() / "run", duo());
        return decode(write(source, window, "perfetto", folder_.path() / "trace.pftrace").open);
    }
    TemporaryFolder folder_;
};

/// uuid -> `rank 0 (alpha)/worker 1`.
std::map<std::string, std::string> track_names(Json const& trace) {
    std::map<std::string, std::string> names;
    for (auto const& packet : trace.at("packet")) {
        if (!packet.contains("track_descriptor")) continue;
        auto const& track = packet["track_descriptor"][0];
        auto const uuid = track["uuid"][0].get<std::string>();
        EXPECT_FALSE(names.contains(uuid));
        if (track.contains("process")) names[uuid] = track["process"][0]["process_name"][0];
        if (track.contains("thread"))
            names[uuid] = names.at(track["parent_uuid"][0].get<std::string>()) + "/" +
                          track["thread"][0]["thread_name"][0].get<std::string>();
    }
    return names;
}

/// track name -> `B expand 0`, `E 10000`, ... in the order of the file.
std::map<std::string, std::vector<std::string>> steps_by_track(Json const& trace) {
    auto const names = track_names(trace);
    std::map<std::string, std::vector<std::string>> steps;
    for (auto const& packet : trace.at("packet")) {
        if (!packet.contains("track_event")) continue;
        auto const& event = packet["track_event"][0];
        EXPECT_EQ(packet["trusted_packet_sequence_id"][0], "1");
        auto const time = packet["timestamp"][0].get<std::string>();
        auto const is_begin = event["type"][0] == "TYPE_SLICE_BEGIN";
        EXPECT_TRUE(is_begin || event["type"][0] == "TYPE_SLICE_END");
        steps[names.at(event["track_uuid"][0].get<std::string>())].push_back(
            is_begin ? "B " + event["name"][0].get<std::string>() + " " + time : "E " + time);
    }
    return steps;
}

TEST_F(Perfetto, has_only_published_fields) {
    auto const trace = exported();

    EXPECT_FALSE(has_unknown_fields(trace));
    EXPECT_EQ(trace.at("packet").size(), 2u + 6u + 2u * 18u); // processes, threads, begins and ends
}

TEST_F(Perfetto, shows_ranks_as_processes_and_their_threads) {
    auto const names = track_names(exported());

    std::vector<std::string> list;
    for (auto const& [uuid, name] : names) list.push_back(name);
    EXPECT_THAT(list, UnorderedElementsAre("rank 0 (alpha)", "rank 0 (alpha)/communication", "rank 0 (alpha)/worker 1",
                                           "rank 0 (alpha)/worker 2", "rank 1 (beta)", "rank 1 (beta)/communication",
                                           "rank 1 (beta)/worker 1", "rank 1 (beta)/worker 2"));
}

/// Perfetto calls process 0 `swapper`, and takes equal thread numbers for one thread.
TEST_F(Perfetto, process_numbers_are_not_zero_and_thread_numbers_differ) {
    auto const trace = exported();

    std::map<std::string, std::string> process_of_thread;
    for (auto const& packet : trace.at("packet")) {
        if (!packet.contains("track_descriptor") || !packet["track_descriptor"][0].contains("thread")) continue;
        auto const& thread = packet["track_descriptor"][0]["thread"][0];
        EXPECT_NE(thread["pid"][0], "0");
        EXPECT_TRUE(process_of_thread.emplace(thread["tid"][0], thread["pid"][0]).second);
    }
    EXPECT_EQ(process_of_thread.size(), 6u);
}

TEST_F(Perfetto, slices_nest_on_every_track) {
    auto const steps = steps_by_track(exported());

    EXPECT_THAT(steps.at("rank 0 (alpha)/worker 1"), ElementsAre("B expand 0", "B query 2000", "E 5000", "B query 6000",
                                                                 "E 7000", "E 10000", "B wait 10000", "E 15000"));
    EXPECT_THAT(steps.at("rank 0 (alpha)/worker 2"),
                ElementsAre("B wait 0", "E 20000", "B verify 20000", "B query 21000", "E 21500", "E 24000"));
    EXPECT_THAT(steps.at("rank 1 (beta)/worker 1"),
                ElementsAre("B expand 0", "E 6000", "B wait 6000", "E 8000", "B expand 8000", "E 8700"));
    EXPECT_THAT(steps.at("rank 1 (beta)/communication"),
                ElementsAre("B receive 2000", "E 2100", "B send 3000", "E 3050", "B write 9000", "E 9000"));
}

TEST_F(Perfetto, every_flow_has_one_start_and_one_end) {
    auto const trace = exported();

    std::map<std::string, std::string> starts, ends; // name of the slice by flow
    for (auto const& packet : trace.at("packet")) {
        if (!packet.contains("track_event")) continue;
        auto const& event = packet["track_event"][0];
        if (event.contains("flow_ids")) starts[event["flow_ids"][0]] = event["name"][0];
        if (event.contains("terminating_flow_ids")) ends[event["terminating_flow_ids"][0]] = event["name"][0];
    }
    // sender << 40 | sequence number
    EXPECT_THAT(starts, ElementsAre(std::pair("1", "send"), std::pair("1099511627777", "send")));
    EXPECT_THAT(ends, ElementsAre(std::pair("1", "receive"), std::pair("1099511627777", "receive")));
}

TEST_F(Perfetto, details_are_annotations) {
    auto const trace = exported();

    std::vector<std::string> found;
    for (auto const& packet : trace.at("packet")) {
        if (!packet.contains("track_event") || packet["timestamp"][0] != "1000") continue;
        for (auto const& note : packet["track_event"][0].value("debug_annotations", Json::array()))
            found.push_back(note["name"][0].get<std::string>() + "=" + note["uint_value"][0].get<std::string>());
    }
    EXPECT_THAT(found, ElementsAre("bytes=64", "peer=1"));
}

} // namespace
} // namespace espalier::analysis::exports::testing
