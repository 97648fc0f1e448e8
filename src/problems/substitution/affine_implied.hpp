#pragma once

#include "affine_rule.hpp"

#include "espalier/base/stop.hpp"

#include <array>
#include <vector>

namespace espalier::problems::substitution::affine {

/// Rules that others make unnecessary: both sides can be rewritten into one graph by rules that are kept, without a
/// graph larger than both on the way. What is made of constants has no part in size. Not thread safe.
class Kept {
public:
    explicit Kept(Space const& space) : space_(space) {}

    [[nodiscard]] bool imply(Rule const& rule) const;
    void add(Rule const& rule);

private:
    friend class Closure;
    /// One direction of a rule.
    struct Pattern {
        Graph from, to;
        std::vector<std::pair<TermId, SignClass>> signs;
        bool has_conv = false;
    };
    Space const& space_;
    std::array<std::vector<Pattern>, op_count> by_root_;
};

/// Of rules by size: whether each is kept, because no smaller proved ones imply it. Asks the token.
[[nodiscard]] std::vector<bool> without_implied(std::vector<Rule> const& rules, Space const& space,
                                                base::StopToken const& stop);
/// Smaller rules first, of equal ones the most general.
void sort_by_size(std::vector<Rule>& rules, Space const& space);

} // namespace espalier::problems::substitution::affine
