#include "code.hpp"

#include "stored_record.hpp"

#include "espalier/base/build_info.hpp"
#include "espalier/base/contract.hpp"
#include "espalier/base/error.hpp"
#include "espalier/base/hash.hpp"
#include "espalier/codegen/measure.hpp"
#include "espalier/codegen/target.hpp"
#include "espalier/program/source.hpp"
#include "espalier/program/text.hpp"

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

/// Keys of `measure --json`, and of the stored times. A program that is not right has no times.
Json times_json(codegen::Measured const& measured, std::string const& target) {
    auto const is_right = codegen::is_right(measured.verdict);
    Json out{{"checked", is_right}, {"verdict", codegen::name(measured.verdict)}, {"machine", machine_json()}};
    if (!target.empty()) out["target"] = target;
    if (!measured.reason.empty()) out["reason"] = measured.reason;
    if (!is_right) return out;
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

base::Bytes payload_with(search::ResultRecord const& record, Json const& times) {
    auto details = details_of(record);
    details["measured"] = times;
    auto const text = details.dump();
    auto const* const bytes = reinterpret_cast<std::byte const*>(text.data());
    return {bytes, bytes + text.size()};
}

/// Throws Json::exception if it is not what times_json() makes.
StoredTimes times_in(Json const& json) {
    StoredTimes out{.verdict = json.at("verdict"),
                    .machine = json.at("machine").value("cpu", ""),
                    .host = json.at("machine").value("host", "")};
    if (out.verdict == codegen::name(codegen::Ending::wrong)) out.executed = search::Executed::wrong;
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

std::string told(StoredTimes const& times, std::string const& reason) {
    if (times.ms == 0) return fmt::format("{}: {}", times.verdict, reason);
    return fmt::format("{:>9.4g} ms ({:.4g} to {:.4g}), the input {:.4g} ms: {:.2f}x, {}", times.ms, times.low,
                       times.high, times.input_ms, times.speedup(), times.verdict);
}

/// Times of other targets are only printed: the stored ones are of the CPU.
Measurement measurement_of(search::ResultRecord const& record, Json const& json) {
    auto const times = times_in(json);
    auto const reason = json.value("reason", "");
    auto more = json;
    more.erase("machine"); // is printed once for all
    more.erase("reason");
    for (auto const* key : {"ms", "ci_ms", "input_ms", "speedup"})
        if (!more.contains(key)) more[key] = nullptr;
    return {.cost = 1e3 * times.ms,
            .noise = times.ms > 0 ? (times.high - times.low) / 2 / times.ms : 0,
            .executed = times.executed,
            .reason = reason,
            .more = more,
            .text = told(times, reason),
            .payload = json.contains("target") ? std::nullopt : std::optional(payload_with(record, json))};
}

bool is_default(std::string const& target) { return target.empty() || target == codegen::targets().front().name; }

codegen::MeasureOptions codegen_options(MeasureOptions const& options) {
    return {.target = options.target,
            .seconds = options.seconds,
            .threads = options.threads,
            .limit_seconds = options.limit_seconds,
            .stop = options.stop};
}

/// Everything that determines what is executed: the program, what it is compared with, and the version of the
/// generator.
std::uint64_t hash_of_executed(MugraphConfig const& config, search::ResultRecord const& record) {
    auto const input = program::build(config.program);
    auto const build = base::build_info();
    auto hash = base::hash_text(record.text + program::to_text(input) + build.version + build.commit);
    for (auto const weight : weights_of(config.program))
        hash = base::hash_combine(hash, static_cast<std::uint64_t>(weight));
    return hash;
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
    auto const measured = codegen::measure(package_of(config, record, id), codegen_options(options));
    return measurement_of(record, times_json(measured, is_default(options.target) ? "" : options.target));
}

void precompile_program(MugraphConfig const& config, search::ResultRecord const& record,
                        MeasureOptions const& options) {
    codegen::precompile(package_of(config, record, 0), codegen_options(options));
}

std::optional<StoredTimes> times_of(search::ResultRecord const& record) {
    auto const details = details_of(record);
    return details.contains("measured") ? std::optional(times_in(details.at("measured"))) : std::nullopt;
}

std::optional<search::TimeKey> time_key(MugraphConfig const& config, search::ResultRecord const& record,
                                        MeasureOptions const& options) {
    if (!is_default(options.target)) return std::nullopt;
    auto const& machine = codegen::this_machine();
    return search::TimeKey{.what = hash_of_executed(config, record),
                           .threads = options.threads > 0 ? options.threads : machine.cores,
                           .machine = machine.cpu,
                           .compiler = machine.compiler};
}

std::optional<search::MeasuredTime> time_in(MugraphConfig const& config, search::ResultRecord const& record) {
    auto const details = details_of(record);
    if (!details.contains("measured")) return std::nullopt;
    auto const& json = details.at("measured");
    auto const times = times_in(json);
    if (times.ms == 0) return std::nullopt; // failures are tried again
    auto const& machine = json.at("machine");
    return search::MeasuredTime{.key = {.what = hash_of_executed(config, record),
                                        .threads = times.threads,
                                        .machine = times.machine,
                                        .compiler = machine.value("compiler", "")},
                                .ms = times.ms,
                                .low = times.low,
                                .high = times.high,
                                .details = json.dump()};
}

std::optional<Measurement> remembered_program(search::ResultRecord const& record, search::MeasuredTime const& time) {
    try {
        return measurement_of(record, Json::parse(time.details));
    } catch (Json::exception const&) { // another version wrote it
        return std::nullopt;
    }
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
