#include "records.hpp"

#include "espalier/problems/placement/stored.hpp"

#include "espalier/base/bytes.hpp"
#include "espalier/base/error.hpp"
#include "espalier/base/hash.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <tuple>

namespace espalier::problems::placement {

/// A wrong program passes if a sum of random 64-bit numbers with small factors vanishes modulo 2^64.
constexpr double error_bound = 0x1p-57;

search::ResultRecord to_record(Pair const& pair, Result const& result) {
    search::ResultRecord record;
    base::ByteWriter writer(record.payload);
    writer.put(result.pair);
    writer.put(static_cast<std::uint8_t>(result.program.size()));
    for (auto const& step : result.program) {
        writer.put(step.grouping.from);
        writer.put(step.grouping.to);
        writer.put(static_cast<std::uint8_t>(step.grouping.is_master));
        writer.put(static_cast<std::uint8_t>(step.collective));
    }
    record.key = base::hash_bytes(record.payload);
    writer.put(static_cast<std::int32_t>(result.segments));
    record.cost = result.predicted_us;
    record.error_bound = error_bound;
    record.verification = search::Verification::random;
    record.text = fmt::format("{} | {} | {}", pair.matrix_text(), pair.reduction_text(),
                              reduction::text(result.program, pair.names));
    return record;
}

namespace {

reduction::Step read_step(base::ByteReader& reader, int levels) {
    reduction::Step step;
    step.grouping.from = reader.get<std::uint8_t>();
    step.grouping.to = reader.get<std::uint8_t>();
    step.grouping.is_master = reader.get<std::uint8_t>() != 0;
    auto const collective = reader.get<std::uint8_t>();
    if (collective >= reduction::collective_names.size() || step.grouping.from >= step.grouping.to ||
        step.grouping.to > levels)
        throw base::InputError("a stored program is damaged: search again with --force");
    step.collective = static_cast<reduction::Collective>(collective);
    return step;
}

} // namespace

Result to_result(search::ResultRecord const& record, std::vector<Pair> const& pairs) try {
    base::ByteReader reader(record.payload);
    Result result{.pair = reader.get<std::uint32_t>(), .program = {}, .predicted_us = record.cost, .segments = 1};
    if (result.pair >= pairs.size())
        throw base::InputError("a stored program is of no placement of the experiment: search again with --force");
    auto const steps = reader.get<std::uint8_t>();
    for (int i = 0; i < steps; ++i) result.program.push_back(read_step(reader, pairs[result.pair].levels()));
    result.segments = reader.get<std::int32_t>();
    return result;
} catch (base::SystemError const& error) {
    throw base::InputError("a stored program is damaged ({}): search again with --force", error.what());
}

std::vector<search::ResultRecord> ranked(std::vector<search::ResultRecord> results) {
    std::ranges::sort(results, {}, [](auto const& record) { // the payload grows with the steps
        return std::tuple(record.cost, record.payload.size(), record.key);
    });
    return results;
}

std::vector<Ranked> best_results(std::vector<Pair> const& pairs, std::vector<search::ResultRecord> const& results,
                                 std::size_t top) {
    std::vector<Ranked> list;
    std::map<int, std::size_t> taken; // by reduction
    std::size_t id = 0;
    for (auto const& record : ranked(results)) {
        auto result = to_result(record, pairs);
        auto const& pair = pairs[result.pair];
        ++id;
        if (top > 0 && taken[pair.is_one_of_many ? pair.reduction : 0]++ >= top) continue;
        list.push_back({id, record.key, std::move(result), record.found_s});
    }
    return list;
}

std::vector<StoredProgram> stored_programs(PlacementConfig const& config,
                                           std::vector<search::ResultRecord> const& results, std::size_t top) {
    auto const pairs = pairs_of(config);
    std::vector<StoredProgram> list;
    for (auto const& [id, _, result, found_s] : best_results(pairs, results, top)) {
        auto const& pair = pairs[result.pair];
        list.push_back({.id = id,
                        .placement = pair.matrix_text(),
                        .reduction = pair.reduction_text(),
                        .program = reduction::text(result.program, pair.names),
                        .lowered = pair.lower(result.program),
                        .groups = pair.groups,
                        .hierarchy = pair.hierarchy,
                        .segments = result.segments,
                        .request = pair.request,
                        .payload = pair.payload,
                        .predicted_us = result.predicted_us,
                        .baseline_us = pair.baseline_us()});
    }
    return list;
}

} // namespace espalier::problems::placement
