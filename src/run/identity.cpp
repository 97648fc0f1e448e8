#include "espalier/run/identity.hpp"

#include "espalier/config/load.hpp"

namespace espalier::run {

store::Identity identity_of(config::RunConfig const& config) {
    return {config::problem_text(config.problem), config::identity_text(config), config.search.seed};
}

} // namespace espalier::run
