#include "support/toys.hpp"

namespace espalier::search {

template std::unique_ptr<AnyProblem> erase(toys::BestFirst);
template std::unique_ptr<AnyProblem> erase(toys::Spread);
template std::unique_ptr<AnyProblem> erase(toys::Tsp);
template std::unique_ptr<AnyProblem> erase(toys::Slow);

} // namespace espalier::search
