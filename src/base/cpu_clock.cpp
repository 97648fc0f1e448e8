#include "espalier/base/cpu_clock.hpp"

#include "espalier/base/system.hpp"

#include <algorithm>
#include <limits>

namespace espalier::base {

std::int64_t thread_cpu_clock_ns() {
    static auto const least_ns = [] { // of a few, because interruptions come in between
        auto least = std::numeric_limits<std::int64_t>::max();
        for (int i = 0; i < 32; ++i) {
            auto const start = thread_cpu_ns();
            least = std::min(least, thread_cpu_ns() - start);
        }
        return std::max<std::int64_t>(least, 0);
    }();
    return least_ns;
}

} // namespace espalier::base
