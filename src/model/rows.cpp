#include "nest_evaluate.hpp"
namespace espalier::model {
std::optional<Array> evaluate_rows(Nest const&, Sources const&, base::StopToken const&) { return std::nullopt; }
} // namespace espalier::model
