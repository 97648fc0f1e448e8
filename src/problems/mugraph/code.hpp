#pragma once

#include "espalier/problems/mugraph/report.hpp"

/// Stored programs as code.
namespace espalier::problems::mugraph {

/// What `emit` offers; the first is the default.
[[nodiscard]] std::vector<Format> code_targets();
[[nodiscard]] std::vector<Format> code_forms();
/// The folder of a stored program, result `id`.
[[nodiscard]] std::vector<File> program_files(MugraphConfig const& config, search::ResultRecord const& record,
                                              std::size_t id, EmitOptions const& options);

/// Where programs are measured, for scripts.
[[nodiscard]] base::Json machine_json();
/// Compiles, checks and measures a stored program here, beside the input program.
[[nodiscard]] Measurement measured_program(MugraphConfig const& config, search::ResultRecord const& record,
                                           std::size_t id, MeasureOptions const& options);

/// Prepares everything but the measurement itself. Throws Stopped.
void precompile_program(MugraphConfig const& config, search::ResultRecord const& record, MeasureOptions const& options);

/// Times that other runs may use: see StoredResults.
[[nodiscard]] std::optional<search::TimeKey> time_key(MugraphConfig const& config, search::ResultRecord const& record,
                                                      MeasureOptions const& options);
[[nodiscard]] std::optional<search::MeasuredTime> time_in(MugraphConfig const& config,
                                                          search::ResultRecord const& record);
[[nodiscard]] std::optional<Measurement> remembered_program(search::ResultRecord const& record,
                                                            search::MeasuredTime const& time);

/// The stored part of that.
struct StoredTimes {
    search::Executed executed = search::Executed::no;
    double ms = 0, low = 0, high = 0;
    double input_ms = 0, input_low = 0, input_high = 0;
    int threads = 0;
    std::string verdict, machine, host;

    [[nodiscard]] double speedup() const { return input_ms / ms; }
    /// Than the input, by more than the noise.
    [[nodiscard]] bool is_faster() const { return high < input_low; }
    [[nodiscard]] bool is_slower() const { return low > input_high; }
};
/// Nothing if it was not measured; all times are 0 if it is not right.
[[nodiscard]] std::optional<StoredTimes> times_of(search::ResultRecord const& record);
/// The order of results: those that were measured first, by how much faster than the input they are; those that are
/// wrong last.
void sort_by_times(Records& records);

} // namespace espalier::problems::mugraph
