#include "code.hpp"

#include "stored_record.hpp"

#include "espalier/base/contract.hpp"
#include "espalier/base/error.hpp"
#include "espalier/codegen/measure.hpp"
#include "espalier/codegen/target.hpp"
#include "espalier/program/source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

namespace espalier::problems::mugraph {
namespace {

std::vector<int> weights_of(program::Source const& source) {
    std::vector<int> out;
    for (std::size_t i = 0; i < source.inputs.size(); ++i)
        if (std::ranges::count(source.weights, source.inputs[i].name) > 0) out.push_back(static_cast<int>(i));
    return out;
}

codegen::Package package_of(MugraphConfig const& config, search::ResultRecord const& record, std::size_t id) {
    auto const name = codegen::identifier(config.builtin.empty() ? "program" : config.builtin);
    return {.program = graph_of(record),
            .input = program::build(config.program),
            .weights = weights_of(config.program),
            .name = name,
            .about =
                fmt::format("{}: result {}, key {:016x}, {}", name, id, record.key, search::name(record.verification))};
}

using base::Json;

search::Executed executed_as(codegen::Verdict verdict) {
    if (verdict == codegen::Verdict::wrong) return search::Executed::wrong;
    return codegen::is_right(verdict) ? search::Executed::within_tolerance : search::Executed::no;
}

/// Keys of `measure --json`, and of what is stored.
Json times_json(codegen::Measured const& measured) {
    Json out{{"checked", codegen::is_right(measured.verdict)}, {"verdict", codegen::name(measured.verdict)}};
    if (!codegen::is_right(measured.verdict)) return out;
    auto const& [ms, low, high] = measured.program;
    auto const& input = measured.input;
    out.update({{"ms", ms},
                {"ci_ms", {low, high}},
                {"input_ms", input.ms},
                {"input_ci_ms", {input.low, input.high}},
                {"speedup", measured.speedup()},
                {"max_error", measured.max_error},
                {"tolerance", measured.tolerance},
                {"threads", measured.threads}});
    return out;
}

base::Bytes payload_with(search::ResultRecord const& record, Json times) {
    auto details = details_of(record);
    times["machine"] = machine_json();
    details["measured"] = std::move(times);
    auto const text = details.dump();
    auto const* const bytes = reinterpret_cast<std::byte const*>(text.data());
    return {bytes, bytes + text.size()};
}

std::string told(codegen::Measured const& measured) {
    if (!codegen::is_right(measured.verdict))
        return fmt::format("{}: {}", codegen::name(measured.verdict), measured.reason);
    auto const& [ms, low, high] = measured.program;
    return fmt::format("{:>9.4g} ms ({:.4g} to {:.4g}), the input {:.4g} ms: {:.2f}x, {}", ms, low, high,
                       measured.input.ms, measured.speedup(), codegen::name(measured.verdict));
}

/// Wrong, then not measured: both after what was.
int group_of(std::optional<StoredTimes> const& times) {
    if (!times || times->executed == search::Executed::no) return 1;
    return times->executed == search::Executed::wrong ? 2 : 0;
}

} // namespace

Json machine_json() {
    auto const& machine = codegen::this_machine();
    return {{"host", machine.host}, {"cpu", machine.cpu}, {"cores", machine.cores}, {"compiler", machine.compiler}};
}

Measurement measured_program(MugraphConfig const& config, search::ResultRecord const& record, std::size_t id,
                             MeasureOptions const& options) {
    auto const measured =
        codegen::measure(package_of(config, record, id),
                         {.target = options.target, .seconds = options.seconds, .threads = options.threads});
    auto times = times_json(measured);
    auto const is_default = options.target.empty() || options.target == codegen::targets().front().name;
    if (!is_default) times["target"] = options.target;
    auto const& [ms, low, high] = measured.program;
    return {.cost = 1e3 * ms,
            .noise = ms > 0 ? (high - low) / 2 / ms : 0,
            .executed = executed_as(measured.verdict),
            .reason = measured.reason,
            .more = times,
            .text = told(measured),
            .payload = is_default ? std::optional(payload_with(record, times)) : std::nullopt};
}

std::optional<StoredTimes> times_of(search::ResultRecord const& record) {
    auto const details = details_of(record);
    if (!details.contains("measured")) return std::nullopt;
    auto const& json = details.at("measured");
    StoredTimes out{.verdict = json.value("verdict", ""), .machine = json.at("machine").value("cpu", "")};
    if (out.verdict == codegen::name(codegen::Verdict::wrong)) out.executed = search::Executed::wrong;
    if (!json.value("checked", false)) return out;
    out.executed = search::Executed::within_tolerance;
    out.ms = json.at("ms");
    out.low = json.at("ci_ms").at(0);
    out.high = json.at("ci_ms").at(1);
    out.input_ms = json.at("input_ms");
    out.input_low = json.at("input_ci_ms").at(0);
    out.input_high = json.at("input_ci_ms").at(1);
    out.threads = json.at("threads");
    return out;
}

void sort_by_times(Records& records) {
    std::unordered_map<std::uint64_t, std::optional<StoredTimes>> times;
    for (auto const& record : records) times.emplace(record.key, times_of(record));
    std::ranges::stable_sort(records, [&](auto const& a, auto const& b) {
        auto const &of_a = times.at(a.key), &of_b = times.at(b.key);
        if (group_of(of_a) != group_of(of_b)) return group_of(of_a) < group_of(of_b);
        return group_of(of_a) == 0 && of_a->speedup() > of_b->speedup();
    });
}

std::vector<Format> code_targets() {
    std::vector<Format> out;
    for (auto const& target : codegen::targets())
        out.push_back({std::string(target.name), std::string(target.help), std::string(target.caution)});
    return out;
}

std::vector<Format> code_forms() {
    std::vector<Format> out;
    for (auto const& form : codegen::forms()) out.push_back({std::string(form.name), std::string(form.help)});
    return out;
}

std::vector<File> program_files(MugraphConfig const& config, search::ResultRecord const& record, std::size_t id,
                                EmitOptions const& options) {
    auto const* const target = codegen::find_target(options.target);
    auto const form = std::ranges::find(codegen::forms(), options.format, &codegen::Form::name);
    ESP_EXPECT(target != nullptr && form != codegen::forms().end());
    if (!form->target.empty() && form->target != options.target)
        throw base::InputError("--format {}: there is none for --target {}: use --target {}, or leave --format out",
                               options.format, options.target, form->target);
    auto const package = package_of(config, record, id);
    std::vector<File> files;
    for (auto const& made : {target->package(package), form->more(package)})
        for (auto const& file : made) files.push_back({file.name, file.text});
    return files;
}

} // namespace espalier::problems::mugraph
