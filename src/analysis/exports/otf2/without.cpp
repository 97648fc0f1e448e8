#include "espalier/analysis/exports/writers.hpp"
#include "espalier/base/error.hpp"

namespace espalier::analysis::exports {

Written write_otf2(TraceSource&, Window const&, std::filesystem::path const& folder) {
    throw base::InputError("{}: this program was built without OTF2: install libotf2-trace-dev and build it again, or "
                           "choose another export format",
                           folder.string());
}

} // namespace espalier::analysis::exports
