#pragma once

#include "target.hpp"

#include "espalier/problems/mugraph/space.hpp"

#include <algorithm>
#include <set>
#include <vector>

namespace espalier::problems::mugraph {

/// The properties of the program that determine defaults.
struct Traits {
    bool has_exp = false;
    std::set<program::OpCode> ops;
    std::vector<std::int64_t> axes;   ///< of norms and reductions; from the back, other than -1
    std::vector<SearchOp> library;    ///< norms and reductions, with the axis from the back
    std::vector<SearchOp> bounded;    ///< pointwise ops with the bounds that they have
    std::vector<SearchOp> sums_to;    ///< with the axis from the back
    std::vector<SearchOp> rearranged; ///< with the order of dimensions that they have
    std::vector<SearchOp> moved;      ///< the same for ops that only library kernels and views do
    std::vector<double> eps;          ///< of norms; 0 where one has none
    int rank = 0;
    std::size_t inputs = 0, outputs = 0;
    int op_count = 0;
    int view_count = 0;            ///< of them
    std::size_t symbols = 0;       ///< of its dimensions
    std::uint32_t taken_twice = 0; ///< see Space
};
[[nodiscard]] Traits traits_of(Target const& target);

inline void add_once(std::vector<SearchOp>& ops, SearchOp const& op) {
    if (!std::ranges::count(ops, op)) ops.push_back(op);
}
[[nodiscard]] inline bool takes_eps(program::OpInfo const& row) {
    return std::ranges::count(row.attributes, program::AttributeName::eps) > 0;
}

} // namespace espalier::problems::mugraph
