#include "experiments.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

namespace espalier::config::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;

fs::path const examples = fs::path(ESPALIER_SOURCE_DIR) / "config";

std::string input_error_of(fs::path const& file) {
    try {
        (void)experiments().load(file);
    } catch (base::InputError const& error) {
        return error.what();
    }
    return "";
}

std::vector<fs::path> example_files() {
    std::vector<fs::path> out;
    for (auto const& entry : fs::recursive_directory_iterator(examples)) {
        auto const& file = entry.path();
        if (file.extension() == ".yaml" && file.parent_path().filename() != "hardware") out.push_back(file);
    }
    return out;
}

std::string readme_of_examples() {
    std::ostringstream readme;
    readme << std::ifstream(examples / "README.md").rdbuf();
    return readme.str();
}

TEST(Load, a_missing_file_is_an_input_error_with_a_remedy) {
    EXPECT_EQ(input_error_of("/no/such.yaml"),
              "/no/such.yaml: cannot be read (No such file or directory): check the path and its permissions");
}

TEST(Load, a_folder_is_an_input_error_with_a_remedy) {
    EXPECT_THAT(input_error_of(examples),
                AllOf(HasSubstr("is a folder, not an experiment"), HasSubstr("name a YAML file")));
}

TEST(Load, a_device_without_end_is_refused) {
    EXPECT_THAT(input_error_of("/dev/zero"), HasSubstr("larger than 16 MiB"));
}

TEST(Load, the_time_to_start_is_read_alone_whatever_else_is_wrong) {
    using namespace std::chrono_literals;
    auto const file = fs::path(::testing::TempDir()) / "espalier_start_test.yaml";
    std::ofstream(file) << "problem: {kind: nonsense}\ncluster: {start: 7s, group: -1}\n";
    std::vector const given{parse_override("search.threads=none"), parse_override("cluster.start=8s")};

    EXPECT_EQ(peek_start(file, {}), 7s);
    EXPECT_EQ(peek_start(file, given), 8s);
    EXPECT_EQ(peek_start("/dev/null", given), 8s);
    EXPECT_EQ(peek_start("/no/such.yaml", {}), 5min);
    EXPECT_EQ(peek_start(file, {parse_override("cluster.start=soon")}), 5min);
    EXPECT_EQ(peek_start(file, {parse_override("cluster=[")}), 7s);
    EXPECT_EQ(peek_start(file, {parse_override("cluster=3")}), 5min);
    fs::remove(file);
}

TEST(Load, errors_name_the_file_as_it_was_given) {
    auto const file = fs::path(::testing::TempDir()) / "espalier_load_test.yaml";
    std::ofstream(file) << "problem: {kind: uts}\nresults: {}\n";

    EXPECT_THAT(input_error_of(file), ::testing::StartsWith(file.string() + ":2:10: error: missing key 'path'"));
    fs::remove(file);
}

TEST(Examples, every_example_loads_and_writes_to_the_folder_of_its_name) {
    auto const files = example_files();

    EXPECT_GE(files.size(), 27u);
    for (auto const& file : files)
        EXPECT_EQ(experiments().load(file).results.path, "runs/" + file.stem().string()) << file;
}

TEST(Examples, every_example_starts_with_a_comment) {
    for (auto const& file : example_files()) EXPECT_EQ(std::ifstream(file).get(), '#') << file;
}

TEST(Examples, the_readme_names_every_example_of_its_own) {
    auto const readme = readme_of_examples();

    for (auto const* name :
         {"uts-t1.yaml", "uts-t5.yaml", "uts-t1l.yaml", "uts-t3l.yaml", "uts-custom.yaml", "uts-policies.yaml"})
        EXPECT_THAT(readme, HasSubstr(name));
    for (auto const& file : fs::directory_iterator(examples / "mugraph"))
        EXPECT_NE(readme.find("`mugraph/" + file.path().filename().string() + "`"), std::string::npos) << file;
}

TEST(Examples, there_is_one_for_every_builtin_program) {
    std::set<std::string> shown;
    for (auto const& file : example_files())
        if (auto const config = experiments().load(file); kind_of(config.problem) == "mugraph")
            shown.insert(mugraph(config).builtin);

    for (auto const& builtin : program::builtins())
        EXPECT_TRUE(shown.contains(std::string(builtin.name))) << builtin.name;
}

TEST(YamlToJson, values_have_the_types_they_look_like) {
    auto const json = parse_yaml_to_json("a: [1, -2.5, true, x, '7']\nb: {c: 4096, d: }\n", "text");

    EXPECT_EQ(json.dump(), R"({"a":[1,-2.5,true,"x","7"],"b":{"c":4096,"d":null}})");
}

TEST(YamlToJson, errors_have_their_places) {
    try {
        (void)parse_yaml_to_json("a: 1\na: 2\nb: 3\nb: 4\n", "prog.yaml");
        FAIL() << "two errors expected";
    } catch (ConfigError const& error) {
        EXPECT_EQ(error.errors(), 2);
        EXPECT_THAT(error.what(), ::testing::StartsWith("prog.yaml:2:1: error: duplicate key 'a'"));
    }
}

} // namespace
} // namespace espalier::config::testing
