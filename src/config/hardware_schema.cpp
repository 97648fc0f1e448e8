#include "espalier/config/hardware_schema.hpp"

#include "espalier/config/section.hpp"
#include "espalier/config/suggest.hpp"
#include "files.hpp"
#include "hardware_files.hpp"
#include "yaml_reader.hpp"

#include "espalier/config/load.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>

namespace espalier::config {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t kibibyte = 1024;
constexpr std::uint64_t gigabyte = 1'000'000'000;

Scalar<std::uint64_t> rate() { return bandwidth({gigabyte / 1000, 1'000'000 * gigabyte}); }
Scalar<std::uint64_t> capacity() { return size_bytes({kibibyte, 1ull << 40}); }
Scalar<double> tera() { return real({1e-6, 1e6}); }
Scalar<std::int32_t> count() { return integer<std::int32_t>({1, 1'000'000}); }

Section<FlopRates> rates_section() {
    Section<FlopRates> section;
    section.field({"f16", "of dtype f16", "312"}, &FlopRates::f16, tera())
        .field({"bf16", "of dtype bf16", "312"}, &FlopRates::bf16, tera())
        .field({"f32", "of dtype f32", "19.5"}, &FlopRates::f32, tera())
        .field({"f64", "of dtype f64", "9.7"}, &FlopRates::f64, tera());
    return section;
}

/// `16x8x16`; nothing if it is something else.
std::optional<MatmulShape> parse_shape(std::string_view text) {
    std::array<std::int32_t, 3> sizes{};
    auto const* at = text.data();
    auto const* const end = at + text.size();
    for (std::size_t i = 0; i < sizes.size(); ++i) {
        if (i > 0 && (at == end || *at++ != 'x')) return std::nullopt;
        auto const [next, error] = std::from_chars(at, end, sizes[i]);
        if (error != std::errc() || sizes[i] < 1 || sizes[i] > 4096) return std::nullopt;
        at = next;
    }
    return at == end ? std::optional(MatmulShape{sizes[0], sizes[1], sizes[2]}) : std::nullopt;
}

Scalar<MatmulShape> matmul_shape() {
    auto parse = [](Value const& value) -> Parsed<MatmulShape> {
        if (auto const shape = parse_shape(value.text)) return *shape;
        return Refusal{};
    };
    auto write = [](MatmulShape const& shape) {
        return make_plain(fmt::format("{}x{}x{}", shape.m, shape.n, shape.k));
    };
    return {"a shape like 16x8x16, sizes from 1 to 4096", parse, write,
            base::Json{{"type", "string"}, {"pattern", "^[1-9][0-9]*x[1-9][0-9]*x[1-9][0-9]*$"}}};
}

Section<MatmulShapes> shapes_section() {
    Section<MatmulShapes> section;
    section.field({"f16", "of dtype f16", "16x8x16"}, &MatmulShapes::f16, matmul_shape())
        .field({"bf16", "of dtype bf16", "16x8x16"}, &MatmulShapes::bf16, matmul_shape())
        .field({"f32", "of dtype f32", "1x1x1"}, &MatmulShapes::f32, matmul_shape())
        .field({"f64", "of dtype f64", "8x8x4"}, &MatmulShapes::f64, matmul_shape());
    return section;
}

/// What becomes of a missing key.
enum class Missing { is_refused, keeps_its_value };

/// Makes keys that are required in a file but not in a map, which takes missing ones from another machine.
struct Keys {
    Missing missing;

    KeyInfo operator()(char const* name, char const* help, char const* example) const {
        return {name, help, missing == Missing::is_refused ? example : ""};
    }
    /// A key that older files do not have. Without it a machine does not have that part at all.
    [[nodiscard]] static KeyInfo optional(char const* name, char const* help) { return {name, help}; }
};

void add_memory(Section<HardwareConfig>& section, Keys const& key) {
    using Hardware = HardwareConfig;
    section.field(key("memory_bandwidth", "of device memory", "1555GB/s"), &Hardware::memory_bandwidth, rate())
        .field(key.optional("latency", "from asking device memory for bytes to having them"), &Hardware::latency,
               duration({0s, 1s}))
        .field(key("l2_bandwidth", "of the last-level cache", "7219GB/s"), &Hardware::l2_bandwidth, rate())
        .field(key("l2", "size of the last-level cache", "40MiB"), &Hardware::l2, capacity())
        .field(
            key.optional("l2_access", "what the last-level cache delivers per access; smaller accesses take as long"),
            &Hardware::l2_access, size_bytes({1, 4 * kibibyte}))
        .field(key.optional("sector", "the least that the last-level cache moves at once"), &Hardware::sector,
               size_bytes({1, 4 * kibibyte}))
        .field(key("shared_bandwidth", "of the shared memory of all multiprocessors together", "19491GB/s"),
               &Hardware::shared_bandwidth, rate())
        .field(key.optional("shared_banks", "of a multiprocessor's shared memory, 4 bytes wide; 1: no banks"),
               &Hardware::shared_banks, integer<std::int32_t>({1, 1024}));
}

void add_arithmetic(Section<HardwareConfig>& section, Keys const& key) {
    using Hardware = HardwareConfig;
    section
        .field(
            key("matmul_tflops", "10^12 operations per second in matmuls", "{f16: 312, bf16: 312, f32: 20, f64: 20}"),
            &Hardware::matmul_tflops, rates_section().codec())
        .field(key.optional("matmul_shape", "m x n x k of one instruction, to which operands are padded"),
               &Hardware::matmul_shape, shapes_section().codec())
        .field(key.optional("matmul_units", "per multiprocessor; a tile of matmul_shape keeps one busy"),
               &Hardware::matmul_units, integer<std::int32_t>({1, 1024}))
        .field(key("pointwise_tflops", "10^12 operations per second in everything else",
                   "{f16: 78, bf16: 39, f32: 20, f64: 10}"),
               &Hardware::pointwise_tflops, rates_section().codec())
        .field(key("function_tops", "10^12 results per second of exp, sqrt and the like", "2.4"),
               &Hardware::function_tops, tera());
}

void add_limits(Section<HardwareConfig>& section, Keys const& key) {
    using Hardware = HardwareConfig;
    section.field(key("multiprocessors", "each runs whole blocks", "108"), &Hardware::multiprocessors, count())
        .field(key("shared_memory", "of a multiprocessor", "164KiB"), &Hardware::shared_memory, capacity())
        .field(key("block_shared_memory", "the most that one block may have", "163KiB"), &Hardware::block_shared_memory,
               capacity())
        .field(key("threads_per_multiprocessor", "the most that are resident", "2048"),
               &Hardware::threads_per_multiprocessor, count())
        .field(key("blocks_per_multiprocessor", "the most that are resident", "32"),
               &Hardware::blocks_per_multiprocessor, count())
        .field(key.optional("registers", "per multiprocessor, 32 bits each; 0: no limit"), &Hardware::registers,
               integer<std::int32_t>({0, 1 << 30}))
        .field(key.optional("thread_registers", "the most that a thread may have; 0: no limit"),
               &Hardware::thread_registers, integer<std::int32_t>({0, 1 << 20}));
}

/// The machine in full.
Section<HardwareConfig> hardware_section(Missing missing) {
    using Hardware = HardwareConfig;
    Keys const key{missing};
    Section<Hardware> section;
    section.field({"name", "of the machine, for people"}, &Hardware::name, text())
        .field(key("launch", "time to start a kernel", "4us"), &Hardware::launch, duration({0s, 1s}))
        .field(key("step", "time to synchronise a block at a step of its for-loop", "50ns"), &Hardware::step,
               duration({0s, 1s}));
    add_memory(section, key);
    add_arithmetic(section, key);
    add_limits(section, key);
    return section;
}

std::vector<std::string> hardware_names() {
    std::vector<std::string> out;
    for (auto const& file : hardware_files()) out.emplace_back(file.name);
    out.emplace_back(here_name);
    return out;
}

/// The machine that a YAML text describes in full. Throws ConfigError.
HardwareConfig parse_hardware(std::string_view text, std::string const& name) {
    text = without_bom(text);
    Diagnostics diagnostics(name, text);
    Context const at(diagnostics);
    auto const map = read_yaml(text, 0, at);
    auto const hardware = map ? hardware_section(Missing::is_refused).read(*map, at) : std::nullopt;
    diagnostics.throw_if_any();
    return hardware.value();
}

std::vector<HardwareConfig> parse_known_hardware() {
    std::vector<HardwareConfig> out;
    for (auto const& [name, text] : hardware_files())
        out.push_back(parse_hardware(text, fmt::format("config/hardware/{}.yaml", name)));
    return out;
}

std::string expected_text() {
    return fmt::format("one of {}, the path of a YAML file or a map of keys", list_text(hardware_names()));
}

bool is_path(std::string_view text) { return text.find('/') != std::string_view::npos || text.ends_with(".yaml"); }

std::optional<HardwareConfig> read_file(Value const& value, Context const& at) {
    auto const file = at.folder_of(value.place) / value.text;
    try {
        return parse_hardware(read_text(file, {"a machine", "config/hardware/a100.yaml"}), file.string());
    } catch (ConfigError const& error) {
        at.add_report(value.place, error);
    } catch (base::InputError const& error) {
        at.error(value.place, fmt::format("{}: {}", at.name(), error.what()));
    }
    return std::nullopt;
}

std::optional<HardwareConfig> read_word(Value const& value, Context const& at) {
    if (!expect_scalar(value, expected_text(), at)) return std::nullopt;
    if (auto const* known = find_hardware(value.text)) return *known;
    if (value.text == here_name) return unmeasured_here();
    if (is_path(value.text)) return read_file(value, at);
    at.error(value.place,
             refusal_text(value, {.hint = did_you_mean(value.text, hardware_names())}, expected_text(), at));
    return std::nullopt;
}

constexpr auto base_key = "from";

/// The machine that a map starts from must have numbers already.
std::optional<HardwareConfig> read_base_word(Value const& value, Context const& at) {
    auto const base = read_word(value, at);
    if (!base || !base->is_to_be_measured) return base;
    at.error(value.place, fmt::format("{}: the numbers of `here` are measured when a search starts, so that no key can "
                                      "differ from them: write them into a file with `espalier hardware --calibrate -o "
                                      "here.yaml` and name that",
                                      at.name()));
    return std::nullopt;
}

/// The machine that gives the keys a map leaves out: its `from`, or what an override went into, or the default.
std::optional<HardwareConfig> read_base(Value const& map, Context const& at) {
    if (auto const* from = map.find(base_key)) return read_base_word(from->value, at.in(base_key));
    return map.shorthand.empty() ? default_hardware() : read_base_word(map.shorthand.front(), at);
}

std::optional<HardwareConfig> read_map(Value map, Context const& at) {
    auto const base = read_base(map, at);
    map.shorthand.clear();
    std::erase_if(map.entries, [](Entry const& entry) { return entry.key == base_key; });
    auto const start = canonical_hardware(base.value_or(default_hardware()));
    auto const out = hardware_section(Missing::keeps_its_value).read(map, at, start);
    return base ? out : std::nullopt;
}

Value write_hardware(HardwareConfig const& hardware) {
    if (hardware.is_to_be_measured) return make_plain(std::string(here_name));
    auto const* known = find_hardware(hardware.name);
    if (known && *known == hardware) return make_plain(hardware.name);
    return hardware_section(Missing::is_refused).write(hardware);
}

base::Json hardware_schema() {
    auto map = hardware_section(Missing::is_refused).schema();
    map["required"] = base::Json::array();
    for (auto& [key, property] : map["properties"].items())
        if (key != "name") property.erase("default"); // what a map leaves out is that of its `from`
    base::Json const word{{"description", expected_text()}, {"type", "string"}, {"examples", hardware_names()}};
    map["properties"][base_key] = word;
    map["properties"][base_key]["description"] = "the machine that supplies what the map leaves out";
    map["properties"][base_key]["default"] = default_hardware().name;
    return {{"anyOf", base::Json::array({word, map})}};
}

} // namespace

std::vector<HardwareConfig> const& known_hardware() {
    static auto const all = parse_known_hardware();
    return all;
}

HardwareConfig const* find_hardware(std::string_view name) {
    auto const& all = known_hardware();
    auto const found = std::ranges::find(all, name, &HardwareConfig::name);
    return found == all.end() ? nullptr : &*found;
}

HardwareConfig const& default_hardware() { return known_hardware().front(); }

HardwareConfig unmeasured_here() {
    auto here = *find_hardware("cpu");
    here.name = here_name;
    here.is_to_be_measured = true;
    return here;
}

std::string hardware_file_text(HardwareConfig const& hardware, std::string_view about) {
    auto const section = hardware_section(Missing::is_refused);
    auto const keys = section.schema().at("properties");
    std::string out;
    for (std::size_t end = 0; !about.empty(); about.remove_prefix(std::min(end + 1, about.size()))) {
        end = std::min(about.find('\n'), about.size());
        out += fmt::format("# {}\n", about.substr(0, end));
    }
    for (auto const& [key, place, value] : section.write(hardware).entries) {
        auto const text = fmt::format("{}: {}", key, to_flow(value));
        out += fmt::format("{:<40} # {}\n", text, keys.at(key).at("description").get<std::string>());
    }
    return out;
}

Codec<HardwareConfig> hardware_codec() {
    auto const read = [](Value const& value, Context const& at) {
        return value.kind == Value::Kind::map ? read_map(value, at) : read_word(value, at);
    };
    return {read, write_hardware, hardware_schema};
}

HardwareConfig canonical_hardware(HardwareConfig hardware) {
    hardware.name = HardwareConfig{}.name;
    return hardware;
}

} // namespace espalier::config
