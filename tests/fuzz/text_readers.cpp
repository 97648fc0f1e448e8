#include "fuzz/readers.hpp"

#include "espalier/base/error.hpp"
#include "espalier/base/text.hpp"
#include "espalier/base/units.hpp"
#include "espalier/problems/mugraph/mugraph_config.hpp"
#include "espalier/problems/mutation/mutation_config.hpp"
#include "espalier/problems/problems.hpp"
#include "espalier/program/json.hpp"
#include "espalier/program/source.hpp"
#include "espalier/program/text.hpp"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>

namespace espalier::fuzz {
namespace {

namespace fs = std::filesystem;
using base::Json;
using config::Override;

constexpr auto minimal = "problem: {kind: uts, tree: T1}\nresults: {path: runs/x}\n";

/// Nothing if the input is refused.
template <class Read>
auto read_or_refused(Read read) -> std::optional<decltype(read())> {
    try {
        return read();
    } catch (base::InputError const& error) {
        expect(!std::string_view(error.what()).empty(), "a refusal says something");
        (void)base::printable(error.what());
        return std::nullopt;
    }
}

void expect_same_when_written(config::RunConfig const& config) {
    auto const yaml = config::to_yaml(config);
    expect(problems::experiments().parse(yaml, "again") == config, "what to_yaml() writes reads the same");
    expect(problems::experiments().parse_stored(yaml) == config, "what is stored reads the same");
    (void)config::problem_text(config.problem);
    (void)config::identity_text(config);
}

/// What an experiment says of a tensor program or a linear one.
void read_program(config::RunConfig const& config) {
    auto const* const section = &config.problem.section();
    if (section == &problems::mutation::problem_section())
        (void)problems::mutation::linear_program(config.problem.as<problems::mutation::MutationConfig>().program);
    if (section != &problems::mugraph::problem_section()) return;
    auto const& source = config.problem.as<problems::mugraph::MugraphConfig>().program;
    (void)read_or_refused([&] { return program::symbolic_shapes(source); });
    (void)read_or_refused([&] { return program::build(source); });
}

void read_experiment(std::string_view input) {
    auto const config = read_or_refused([&] { return problems::experiments().parse(input, "fuzz.yaml"); });
    if (!config) return;
    expect_same_when_written(*config);
    read_program(*config);
}

/// The first line is the override, the rest the experiment.
void read_override(std::string_view input) {
    auto const end = std::min(input.find('\n'), input.size());
    auto const rest = input.substr(std::min(end + 1, input.size()));
    auto const config = read_or_refused([&] {
        auto const one = config::parse_override(input.substr(0, end));
        return problems::experiments().parse(rest.empty() ? minimal : rest, "fuzz.yaml", {one});
    });
    if (config) expect_same_when_written(*config);
}

void read_flag(std::string_view input) {
    std::string const text(input);
    auto const config = read_or_refused([&] {
        return problems::experiments().parse(minimal, "fuzz.yaml",
                                             {{"results.path", text, "--results", Override::Form::literal}});
    });
    expect(config.has_value() == (!text.empty() && base::is_utf8(text)), "any text is a name");
    if (!config) return;
    expect(config->results.path == text, "a flag is literal");
    expect_same_when_written(*config);
}

/// The input stands where an experiment describes its machine.
void read_machine(std::string_view input) {
    std::string text = "problem:\n  kind: mugraph\n  program: {builtin: rmsnorm_linear}\n  hardware:\n    ";
    for (auto const c : input) text += c == '\n' ? std::string("\n    ") : std::string(1, c);
    read_experiment(text + "\nresults: {path: x}\n");
}

void read_yaml(std::string_view input) {
    auto const json = read_or_refused([&] { return config::parse_yaml_to_json(input, "fuzz.yaml"); });
    if (json) (void)json->dump();
}

void expect_same_program(program::Graph const& graph) {
    expect(program::from_json(program::to_json(graph)) == graph, "a program written as JSON reads the same");
    auto const text = program::to_text(graph);
    expect(program::to_text(program::parse_text(text, "again")) == text, "a program written as text reads the same");
}

void read_text(std::string_view input) {
    auto const graph = read_or_refused([&] { return program::parse_text(input, "fuzz.txt"); });
    if (graph) expect_same_program(*graph);
}

void read_json(std::string_view input) {
    auto const json = Json::parse(input, nullptr, /*allow_exceptions=*/false);
    if (json.is_discarded()) return;
    auto const graph = read_or_refused([&] { return program::from_json(json); });
    if (graph) expect_same_program(*graph);
}

void read_units(std::string_view input) {
    if (auto const time = base::parse_duration(input))
        expect(base::parse_duration(base::format_duration(*time)) == *time, "a time that is written reads the same");
    if (auto const size = base::parse_bytes(input))
        expect(base::parse_bytes(base::format_bytes(*size)) == *size, "a size that is written reads the same");
    expect(base::is_utf8(base::printable(input)), "what is printable is text");
}

std::vector<std::string> files_in(std::string const& folder) {
    std::vector<std::string> texts;
    for (auto const& entry : fs::recursive_directory_iterator(fs::path(ESPALIER_SOURCE_DIR) / folder)) {
        if (entry.path().extension() != ".yaml") continue;
        std::ifstream in(entry.path());
        texts.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
    }
    return texts;
}

constexpr auto kernel_text = R"(program f16
  X = input [2, 4096]
  W = input [4096, 6144]
  t2 = kernel grid [96] loop 64 threads 128 {
    x = tile X (loop: 1)
    w = tile W (grid x: 1, loop: 0)
    t2 = matmul x w
    t3 = accumulate t2
    t4 = accumulate_rms x (axis: -1)
    t5 = div t3 t4
    store t5 (grid x: 1)
  }
  output t2
)";

std::vector<program::Graph> programs() {
    std::vector<program::Graph> list{program::parse_text(kernel_text, "seed")};
    for (auto const& builtin : program::builtins()) {
        std::vector<std::int64_t> sizes;
        for (auto const& key : builtin.keys) sizes.push_back(key.default_size);
        list.push_back(program::build(builtin.make(sizes)));
    }
    return list;
}

template <class Write>
std::vector<std::string> programs_as(Write write) {
    std::vector<std::string> texts;
    for (auto const& graph : programs()) texts.push_back(write(graph));
    return texts;
}

} // namespace

std::vector<Target> text_targets() {
    return {
        {"experiment", read_experiment, files_in("config")},
        {"override",
         read_override,
         {"search.threads=2", "results.path=\"a #2\"", "problem.tree.depth=3", "search.memory=80%",
          "problem.space={from: mirage, max_block_ops: 5}\nproblem: {kind: mugraph, program: {builtin: gated_mlp}}\n"
          "results: {path: x}\n"}},
        {"flag", read_flag, {"runs/a #2", "~", "!tag", "{}", "a\nb", "\"a\" 'b'", "\xC3\xBC"}},
        {"machine", read_machine, files_in("config/hardware")},
        {"yaml", read_yaml, {"a: [1, {b: &x c}, *x]\n", "- |\n  text\n- >-\n  text\n", "? a\n: b\n"}},
        {"text", read_text, programs_as([](program::Graph const& graph) { return program::to_text(graph); })},
        {"json", read_json, programs_as([](program::Graph const& graph) { return program::to_json(graph).dump(); })},
        {"units", read_units, {"3h50m", "10min", "1.5 GiB", "64KiB", "2us", "\x1b[31m\xC2\x9B"}}};
}

} // namespace espalier::fuzz
