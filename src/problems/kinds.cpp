#include "espalier/problems/kinds.hpp"

#include "espalier/problems/mugraph/kind.hpp"
#include "espalier/problems/mutation/kind.hpp"
#include "espalier/problems/placement/kind.hpp"
#include "espalier/problems/rewrite/kind.hpp"
#include "espalier/problems/substitution/kind.hpp"
#include "espalier/problems/uts/kind.hpp"

#include <array>

namespace espalier::problems {

std::span<Kind const* const> kinds() {
    static std::array const list{&uts::kind(),          &mugraph::kind(),  &placement::kind(),
                                 &substitution::kind(), &mutation::kind(), &rewrite::kind()};
    return list;
}

} // namespace espalier::problems
