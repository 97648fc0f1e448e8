#include "espalier/problems/problems.hpp"

#include "espalier/problems/uts/uts.hpp"

namespace espalier::problems {
namespace {

std::unique_ptr<search::AnyProblem> make_one(config::UtsConfig const& config) {
    return search::erase(uts::Uts(config));
}

} // namespace

std::unique_ptr<search::AnyProblem> make(config::ProblemConfig const& config) {
    return std::visit([](auto const& one) { return make_one(one); }, config);
}

base::Json summary(std::string_view kind, search::ProblemInfo const&, search::Counts const& counts) {
    if (kind == "uts" && !counts.funnel.empty() && !counts.counters.empty())
        return {{"nodes", counts.nodes}, {"leaves", counts.funnel[0]}, {"depth", counts.counters[0]}};
    return nullptr;
}

} // namespace espalier::problems
