#include "espalier/verify/device.hpp"

namespace espalier::verify {

std::vector<std::unique_ptr<DeviceRunner>> make_cuda_runners() { return {}; }
std::string why_no_device() { return "no device: this build has no CUDA (nvcc was not found or ESPALIER_CUDA is off)"; }

} // namespace espalier::verify
