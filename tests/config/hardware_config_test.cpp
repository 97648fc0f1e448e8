#include "experiments.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <set>
#include <sstream>
#include <unistd.h>

namespace espalier::config::testing {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string with_hardware(std::string const& hardware) {
    return with_problem("program: {builtin: lora}, hardware: " + hardware);
}
HardwareConfig hardware(std::string const& text, std::vector<std::string> const& sets = {}) {
    return mugraph(parse(with_hardware(text), sets)).hardware;
}

std::string a100_text() {
    std::ostringstream text;
    text << std::ifstream(ESPALIER_SOURCE_DIR "/config/hardware/a100.yaml").rdbuf();
    return text.str();
}

/// A folder with an experiment and a machine beside it, gone at the end.
class Folder : public ::testing::Test {
protected:
    Folder() { fs::create_directories(folder_); }
    ~Folder() override { fs::remove_all(folder_); }

    void write(std::string const& name, std::string const& text) const { std::ofstream(folder_ / name) << text; }
    [[nodiscard]] RunConfig load() const { return experiments().load(folder_ / "exp.yaml"); }
    [[nodiscard]] std::string errors() const {
        try {
            (void)load();
        } catch (ConfigError const& error) {
            return error.what();
        }
        return "";
    }

    fs::path folder_ = fs::path(::testing::TempDir()) / ("espalier_hardware_test_" + std::to_string(getpid()));
};
using HardwareFiles = Folder;

TEST(HardwareConfig, the_known_machines_have_their_published_numbers) {
    ASSERT_EQ(known_hardware().size(), 4u);
    EXPECT_EQ(default_hardware().name, "a100");

    auto const& a100 = *find_hardware("a100");
    EXPECT_EQ(a100.memory_bandwidth, 1'555'000'000'000u);
    EXPECT_EQ(a100.multiprocessors, 108);
    EXPECT_EQ(a100.matmul_tflops.of(program::DType::f16), 312);
    EXPECT_EQ(a100.matmul_tflops.of(program::DType::f32), 19.5);
    EXPECT_EQ(a100.launch, 4us);
    EXPECT_EQ(a100.latency, 330ns);
    EXPECT_EQ(a100.sector, 32u);
    EXPECT_EQ(a100.matmul_shape.of(program::DType::f16), (MatmulShape{16, 8, 16}));
    EXPECT_EQ(a100.matmul_shape.of(program::DType::f32), (MatmulShape{1, 1, 1}));
    EXPECT_EQ(a100.registers, 65536);
    EXPECT_EQ(find_hardware("h100")->memory_bandwidth, 3'350'000'000'000u);
    EXPECT_EQ(find_hardware("v100")->multiprocessors, 80);
    EXPECT_EQ(find_hardware("cpu")->blocks_per_multiprocessor, 1);
    EXPECT_EQ(find_hardware("a101"), nullptr);
}

TEST(HardwareConfig, a_known_machine_has_a_name) {
    EXPECT_EQ(hardware("h100"), *find_hardware("h100"));
    EXPECT_THAT(errors_of(with_hardware("a10")),
                HasSubstr("'problem.hardware' must be one of a100, h100, v100, cpu, here, the path of a YAML file or a "
                          "map of keys, not 'a10'; did you mean 'a100'?"));
}

TEST(HardwareConfig, a_map_says_how_it_differs) {
    auto expected = *find_hardware("h100");
    expected.name = "custom";
    expected.l2 = 60 << 20;

    EXPECT_EQ(hardware("{from: h100, l2: 60MiB}"), expected);
    EXPECT_EQ(hardware("h100", {"problem.hardware.l2=60MiB"}), expected);
    EXPECT_EQ(hardware("{l2: 60MiB}").memory_bandwidth, default_hardware().memory_bandwidth);
    EXPECT_EQ(hardware("{name: mine, l2: 60MiB}").name, "mine");
    EXPECT_THAT(errors_of(with_hardware("{from: h10}")), HasSubstr("'problem.hardware.from' must be one of a100"));
}

TEST(HardwareConfig, rates_and_times_have_units) {
    EXPECT_EQ(hardware("{memory_bandwidth: 2TB/s}").memory_bandwidth, 2'000'000'000'000u);
    EXPECT_EQ(hardware("{memory_bandwidth: 0.5 GB/s}").memory_bandwidth, 500'000'000u);
    EXPECT_THAT(errors_of(with_hardware("{memory_bandwidth: 1555}")),
                HasSubstr("'problem.hardware.memory_bandwidth' = 1555 has no unit: use 1555GB/s"));
    EXPECT_THAT(errors_of(with_hardware("{memory_bandwidth: 1555GB}")),
                HasSubstr("must be a rate from 1MB/s to 1000TB/s, not '1555GB'"));
    EXPECT_THAT(errors_of(with_hardware("{memory_bandwidth: 0B/s}")), HasSubstr("is out of range"));
    EXPECT_THAT(errors_of(with_hardware("{launch: 4}")), HasSubstr("'problem.hardware.launch' = 4 has no unit"));
    EXPECT_THAT(errors_of(with_hardware("{multiprocessors: 0}")), HasSubstr("is out of range"));
    EXPECT_THAT(errors_of(with_hardware("{matmul_tflops: {f16: 0, bf16: 1, f32: 1, f64: 1}}")),
                HasSubstr("'problem.hardware.matmul_tflops.f16' = 0 is out of range"));
}

TEST(HardwareConfig, shapes_of_matmuls_are_three_sizes) {
    auto const with_shape = [](std::string const& f16) {
        return "{matmul_shape: {f16: " + f16 + ", bf16: 1x1x1, f32: 1x1x1, f64: 1x1x1}}";
    };
    EXPECT_EQ(hardware(with_shape("64x256x16")).matmul_shape.f16, (MatmulShape{64, 256, 16}));
    for (auto const* wrong :
         {"16x8", "16x8x", "16x8x16x1", "x8x16", "16x0x16", "16x8x4097", "16 x 8 x 16", "-1x8x16", "16"})
        EXPECT_THAT(errors_of(with_hardware(with_shape(wrong))),
                    HasSubstr("'problem.hardware.matmul_shape.f16' must be a shape like 16x8x16, sizes from 1 to 4096"))
            << wrong;
}

TEST(HardwareConfig, what_is_written_reads_back) {
    for (auto const* text : {"a100", "cpu", "{from: v100, memory_bandwidth: 1.5GB/s, launch: 1ns, function_tops: 0.1}",
                             "{from: h100, latency: 1ns, sector: 24B, matmul_units: 3, registers: 0}"}) {
        auto const config = parse(with_hardware(text));

        EXPECT_EQ(parse(to_yaml(config)), config) << text;
    }
}

TEST(HardwareConfig, the_name_of_a_machine_does_not_matter_to_the_problem) {
    auto const text = [](std::string const& name) { return problem_text(parse(with_hardware(name)).problem); };

    EXPECT_EQ(text("h100"), text("{from: h100, name: mine}"));
    EXPECT_NE(text("h100"), text("a100"));
    EXPECT_THAT(text("h100"), AllOf(HasSubstr("memory_bandwidth: 3350GB/s"), Not(HasSubstr("h100"))));
}

TEST_F(HardwareFiles, a_path_starts_at_the_folder_of_the_experiment) {
    write("exp.yaml", with_hardware("./mine.yaml"));
    write("mine.yaml", a100_text());

    EXPECT_EQ(mugraph(load()).hardware, default_hardware());
}

TEST_F(HardwareFiles, the_problem_has_the_numbers_of_the_file_and_not_its_path) {
    write("exp.yaml", with_hardware("mine.yaml"));
    write("mine.yaml", a100_text());

    EXPECT_EQ(problem_text(load().problem), problem_text(parse(with_hardware("a100")).problem));
}

TEST_F(HardwareFiles, errors_of_the_file_are_among_all_errors_with_their_own_places) {
    write("exp.yaml", "problem: {kind: mugraph, program: {builtin: lora}, hardware: mine.yaml, prune: z4}\n");
    write("mine.yaml", a100_text() + "lauch: 1us\nl3: 1MiB\n");
    auto const report = errors();

    EXPECT_THAT(report,
                HasSubstr("mine.yaml:28:1: error: unknown key 'lauch'; did you mean 'launch'?\nlauch: 1us\n^\n"));
    EXPECT_THAT(report, HasSubstr("mine.yaml:29:1: error: unknown key 'l3'"));
    EXPECT_THAT(report, HasSubstr("exp.yaml:1:80: error: 'problem.prune' must be one of"));
    EXPECT_THAT(report, HasSubstr("exp.yaml:1:1: error: missing key 'results'"));
}

TEST_F(HardwareFiles, a_file_must_be_complete) {
    write("exp.yaml", with_hardware("mine.yaml"));
    write("mine.yaml", "name: mine\nlaunch: 1us\n");

    EXPECT_THAT(errors(), HasSubstr("mine.yaml:1:1: error: missing key 'memory_bandwidth' (of device memory); add e.g. "
                                    "'memory_bandwidth: 1555GB/s'"));
}

/// As files were before machines had these parts.
TEST_F(HardwareFiles, keys_that_only_newer_files_have_may_be_missing) {
    std::istringstream lines(a100_text());
    std::string older, line;
    while (std::getline(lines, line)) {
        auto const key = line.substr(0, line.find(':'));
        auto const is_new = std::set<std::string>{"latency",      "l2_access",    "sector",    "shared_banks",
                                                  "matmul_shape", "matmul_units", "registers", "thread_registers"}
                                .contains(key);
        if (!is_new) older += line + "\n";
    }
    write("exp.yaml", with_hardware("mine.yaml"));
    write("mine.yaml", older);
    HardwareConfig const none;
    auto expected = default_hardware();
    expected.latency = none.latency;
    expected.l2_access = none.l2_access;
    expected.sector = none.sector;
    expected.shared_banks = none.shared_banks;
    expected.matmul_shape = none.matmul_shape;
    expected.matmul_units = none.matmul_units;
    expected.registers = none.registers;
    expected.thread_registers = none.thread_registers;

    EXPECT_EQ(mugraph(load()).hardware, expected);
}

TEST(HardwareConfig, the_schema_has_no_defaults_for_what_a_map_takes_from_another_machine) {
    auto const schema = base::Json::parse(experiments().schema_json());
    std::size_t seen = 0;
    std::function<void(base::Json const&)> const look = [&](base::Json const& part) {
        if (!part.is_structured()) return;
        if (part.is_object() && part.contains("thread_registers") && part.contains("memory_bandwidth")) {
            ++seen;
            for (auto const* key : {"memory_bandwidth", "latency", "sector", "registers"})
                EXPECT_FALSE(part[key].contains("default")) << key;
        }
        for (auto const& child : part) look(child);
    };
    look(schema);

    EXPECT_GT(seen, 0u);
}

TEST_F(HardwareFiles, a_file_that_is_not_there_is_refused_where_it_is_named) {
    write("exp.yaml", with_hardware("none.yaml"));

    EXPECT_THAT(errors(), AllOf(HasSubstr("exp.yaml:1:62: error: 'problem.hardware': "),
                                HasSubstr("none.yaml: cannot be read (No such file or directory)")));
}

} // namespace
} // namespace espalier::config::testing
