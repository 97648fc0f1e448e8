#pragma once

/// Small problems with known answers, one a feature of the engine. Each packs its nodes by itself.
#include "espalier/search/any_problem.hpp"
#include "support/toys/best_first.hpp"
#include "support/toys/bundles.hpp"
#include "support/toys/chain.hpp"
#include "support/toys/failing.hpp"
#include "support/toys/joined.hpp"
#include "support/toys/orders.hpp"
#include "support/toys/queens.hpp"
#include "support/toys/slow.hpp"
#include "support/toys/spread.hpp"
#include "support/toys/summed.hpp"
#include "support/toys/timed.hpp"
#include "support/toys/tsp.hpp"
#include "support/toys/two_stage.hpp"

/// The engine for each of them takes seconds to compile: it is compiled once, in support/toys/*.cpp.
namespace espalier::search {

extern template std::unique_ptr<AnyProblem> erase(toys::Bags);
extern template std::unique_ptr<AnyProblem> erase(toys::BestFirst);
extern template std::unique_ptr<AnyProblem> erase(toys::Bundles);
extern template std::unique_ptr<AnyProblem> erase(toys::Failing);
extern template std::unique_ptr<AnyProblem> erase(toys::Joined);
extern template std::unique_ptr<AnyProblem> erase(toys::LastTowns);
extern template std::unique_ptr<AnyProblem> erase(toys::Queens);
extern template std::unique_ptr<AnyProblem> erase(toys::Slow);
extern template std::unique_ptr<AnyProblem> erase(toys::Spread);
extern template std::unique_ptr<AnyProblem> erase(toys::Summed);
extern template std::unique_ptr<AnyProblem> erase(toys::Timed);
extern template std::unique_ptr<AnyProblem> erase(toys::Tsp);
extern template std::unique_ptr<AnyProblem> erase(toys::TwoStage);

} // namespace espalier::search
