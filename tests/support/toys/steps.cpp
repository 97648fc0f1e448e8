#include "support/toys.hpp"

namespace espalier::search {

template std::unique_ptr<AnyProblem> erase(toys::Failing);
template std::unique_ptr<AnyProblem> erase(toys::Joined);
template std::unique_ptr<AnyProblem> erase(toys::Summed);
template std::unique_ptr<AnyProblem> erase(toys::Timed);
template std::unique_ptr<AnyProblem> erase(toys::TwoStage);

} // namespace espalier::search
