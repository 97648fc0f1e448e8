#pragma once

#include "espalier/program/source.hpp"

namespace espalier::program {

/// Which op of the source each op of build(source) comes from: a softmax becomes several.
[[nodiscard]] base::IndexedVector<OpId, std::size_t> source_ops(Source const& source);

} // namespace espalier::program
