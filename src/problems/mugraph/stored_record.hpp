#pragma once

#include "espalier/base/error.hpp"
#include "espalier/base/json.hpp"
#include "espalier/program/graph.hpp"
#include "espalier/program/text.hpp"
#include "espalier/search/types.hpp"

#include <fmt/format.h>

/// What a stored result holds.
namespace espalier::problems::mugraph {

/// Throws InputError if they are damaged.
[[nodiscard]] inline base::Json details_of(search::ResultRecord const& record) {
    auto const* text = reinterpret_cast<char const*>(record.payload.data());
    auto const details = base::Json::parse(text, text + record.payload.size(), nullptr, false);
    if (details.is_discarded()) throw base::InputError("result {:016x} has damaged details: search again", record.key);
    return details;
}
[[nodiscard]] inline std::uint64_t form_of(search::ResultRecord const& record) {
    return details_of(record).value("form", std::uint64_t{0});
}
[[nodiscard]] inline program::Graph graph_of(search::ResultRecord const& record) {
    return program::parse_text(record.text, fmt::format("result {:016x}", record.key));
}
[[nodiscard]] inline std::string key_text(std::uint64_t key) { return fmt::format("{:016x}", key); }

} // namespace espalier::problems::mugraph
