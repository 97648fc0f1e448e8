#pragma once

#include "espalier/base/bytes.hpp"
#include "espalier/base/json.hpp"
#include "espalier/base/stop.hpp"
#include "espalier/search/known.hpp"

#include <optional>
#include <string>

namespace espalier::problems {

/// A result that was measured just now.
struct Measurement {
    double cost = 0;  ///< in the unit of CostInfo
    double noise = 0; ///< relative
    search::Executed executed = search::Executed::no;
    std::string reason = {};                 ///< why it is wrong
    base::Json more = base::Json::object();  ///< what else the kind says about it, for scripts
    std::string text = {};                   ///< the same on one line, for people; empty: cost and noise say it all
    std::optional<base::Bytes> payload = {}; ///< the record's from now on, with the measured times
};
struct MeasureOptions {
    std::string target;         ///< empty: the first that the kind has
    int threads = 0;            ///< 0: one per core
    double seconds = 1;         ///< of measuring, for each result
    double limit_seconds = 120; ///< for one result, whatever happens
    base::StopToken stop{};
};

} // namespace espalier::problems
