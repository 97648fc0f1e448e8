#include "espalier/base/contract.hpp"

#include <cstdio>
#include <cstdlib>

namespace espalier::base {

void contract_violated(char const* kind, char const* condition, char const* file, int line) {
    std::fprintf(stderr, "espalier: bug: %s violated: %s (%s:%d)\n", kind, condition, file, line);
    std::fflush(stderr);
    std::abort();
}

} // namespace espalier::base
