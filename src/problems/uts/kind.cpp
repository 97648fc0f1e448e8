#include "espalier/problems/uts/kind.hpp"

#include "espalier/problems/uts/uts.hpp"

namespace espalier::problems::uts {
namespace {

class Stored final : public StoredResults {
public:
    using StoredResults::StoredResults;

    [[nodiscard]] base::Json summary() const override {
        auto const& counts = run().counts;
        if (counts.funnel.empty() || counts.counters.empty()) return nullptr;
        return {{"nodes", counts.nodes}, {"leaves", counts.funnel[0]}, {"depth", counts.counters[0]}};
    }
};

class UtsKind final : public Kind {
public:
    [[nodiscard]] config::ProblemSection const& section() const override { return problem_section(); }
    [[nodiscard]] std::unique_ptr<search::AnyProblem> make(config::RunConfig const& config) const override {
        return search::erase(Uts(config.problem.as<UtsConfig>()));
    }
    [[nodiscard]] std::unique_ptr<StoredResults> open(StoredRun run) const override {
        return std::make_unique<Stored>(std::move(run));
    }
};

} // namespace

Kind const& kind() {
    static UtsKind const one;
    return one;
}

} // namespace espalier::problems::uts
