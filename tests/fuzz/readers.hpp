#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// Everything that reads what a user, a file or another process wrote, each as a function of bytes.
namespace espalier::fuzz {

/// Returns if the input was read or refused as it should be; ends the process if a law does not hold, such as that what
/// is written again reads the same. Any exception that leaves it, other than the module's own errors, is a finding.
using Reader = void (*)(std::string_view input);

struct Target {
    std::string_view name;
    Reader read;
    std::vector<std::string> seeds; ///< good inputs, from which bad ones are made
};

/// Of texts: experiments, overrides, flags, machines, programs as text and as JSON, units.
[[nodiscard]] std::vector<Target> text_targets();
/// Of bytes: packed nodes and messages between ranks.
[[nodiscard]] std::vector<Target> byte_targets();
/// Of models and tensors in ONNX's files.
[[nodiscard]] std::vector<Target> model_targets();

/// Ends the process with a line on stderr.
void expect(bool holds, std::string_view law);

} // namespace espalier::fuzz
