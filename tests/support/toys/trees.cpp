#include "support/toys.hpp"

namespace espalier::search {

template std::unique_ptr<AnyProblem> erase(toys::Bags);
template std::unique_ptr<AnyProblem> erase(toys::Bundles);
template std::unique_ptr<AnyProblem> erase(toys::LastTowns);
template std::unique_ptr<AnyProblem> erase(toys::Queens);

} // namespace espalier::search
