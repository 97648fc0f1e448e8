#include "expression_filter.hpp"

#include "espalier/base/error.hpp"

#include <algorithm>
#include <utility>

namespace espalier::problems::mugraph {

ExpressionFilter::ExpressionFilter(Setup const& setup, search::Notes& notes)
    : setup_(&setup), notes_(&notes), forgets_sizes_(has_sums_of_parts(setup.target)),
      targets_(readings_of(setup.target, builder())), reductions_(reductions_of(setup.target, builder())) {
    if (is_on()) expressions_.set_targets(targets_);
    using enum expr::Expressions::Exponentials;
    expressions_.set_exponentials(setup.space.has_unsafe_exponentials ? any : shifted);
}

smt::Referee& ExpressionFilter::referee() {
    if (!referee_) {
        smt::Referee::Options options;
        options.rlimit = 40'000; // proves nearly as much as ten times more
        options.shared = setup_->answers;
        options.stop = notes_->stop();
        referee_ = std::make_unique<smt::Referee>(expressions_, targets_, options);
    }
    return *referee_;
}

bool ExpressionFilter::is_proved(program::ExprId expr, std::uint32_t pattern) {
    auto const is_proved = referee().is_part(expr, pattern) == smt::Referee::Answer::proved;
    for (auto const& query : referee().take_queries()) {
        notes_->add_query({query.start_ns, query.duration_ns, query.cpu_ns});
        ++queries_;
        solver_ns_ += query.cpu_ns;
    }
    return is_proved;
}

void ExpressionFilter::announce(program::ExprId expr, std::uint32_t pattern) {
    if (expr != expr::Expressions::too_large) referee().announce(expr, pattern);
}

bool ExpressionFilter::is_own_reduction(program::ExprId expr) const {
    return is_on() && std::ranges::find(reductions_, expr) != reductions_.end();
}

bool ExpressionFilter::is_useful(program::ExprId expr, std::uint32_t pattern) {
    using Answer = expr::Expressions::Answer;
    if (!is_on()) return true;
    if (expr == expr::Expressions::too_large) return false;
    auto const native = expressions_.is_part(expr, pattern);
    if (setup_->prune == Prune::native && native != Answer::unknown) return native == Answer::yes;
    auto const has_proof = is_proved(expr, pattern);
    if (setup_->prune == Prune::both && has_proof && native == Answer::no)
        throw base::SystemError("Z3 proves that {} is a subexpression of the target, the native test says that it is "
                                "not (a bug): please report the experiment",
                                expressions_.text(expr, setup_->target.names));
    return has_proof || native != Answer::no;
}

void ExpressionFilter::take_notes() {
    notes_->raise(static_cast<std::size_t>(Count::expressions), expressions_.size());
    notes_->add(static_cast<std::size_t>(Count::solver_queries), std::exchange(queries_, 0));
    notes_->add(static_cast<std::size_t>(Count::solver_us), static_cast<std::uint64_t>(solver_ns_ / 1000));
    solver_ns_ %= 1000;
}

} // namespace espalier::problems::mugraph
