#include "espalier/model/model.hpp"

#include <functional>
#include <numeric>

namespace espalier::model {

std::int64_t element_count(Dims const& dims) {
    return std::accumulate(dims.begin(), dims.end(), std::int64_t{1}, std::multiplies<>());
}

std::int64_t Tensor::size() const { return element_count(dims); }

} // namespace espalier::model
