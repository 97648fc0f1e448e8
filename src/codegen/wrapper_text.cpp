#include "wrapper_text.hpp"

#include "espalier/base/json.hpp"
#include "texts.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace espalier::codegen {
namespace {

std::string tuple_of(program::Shape const& shape) {
    return fmt::format("({},)", fmt::join(shape.begin(), shape.end(), ", "));
}

std::string python_text(std::string const& text) {
    return base::Json(text).dump(-1, ' ', true, base::Json::error_handler_t::replace);
}

/// The names of a dtype in numpy and torch; numpy has no bf16, so its bits are a uint16 there.
struct PythonDType {
    std::string_view numpy, torch;
};
constexpr std::array<PythonDType, 4> python_dtypes{
    {{"float16", "float16"}, {"uint16", "bfloat16"}, {"float32", "float32"}, {"float64", "float64"}}};

} // namespace

std::string wrapper_source(Plan const& plan, std::string const& name) {
    std::string inputs, outputs;
    for (auto const& input : plan.inputs)
        inputs += fmt::format("({}, {}), ", python_text(input.name), tuple_of(input.shape));
    for (auto const& shape : plan.outputs) outputs += tuple_of(shape) + ", ";
    auto const& dtype = python_dtypes[static_cast<std::size_t>(plan.dtype)];
    return fmt::format(
               "\"\"\"lib{0}.so for numpy and torch: `from {0} import run`, after `sh build`.\"\"\"\nimport "
               "ctypes\nimport "
               "os\n\nNAME = \"{0}\"\nINPUTS = ({1})\nOUTPUTS = ({2})\nNUMPY_DTYPE = \"{3}\"\nTORCH_DTYPE = \"{4}\"\n",
               name, inputs, outputs, dtype.numpy, dtype.torch) +
           "\n\n" + std::string(wrapper_text());
}

std::string torch_source(Plan const& plan, std::string const& name) {
    std::vector<std::string> inputs;
    for (std::size_t i = 0; i < plan.inputs.size(); ++i) inputs.push_back(fmt::format("Tensor input_{}", i));
    std::vector<std::string_view> const outputs(plan.outputs.size(), "Tensor");
    auto const made = outputs.size() == 1 ? std::string("Tensor") : fmt::format("({})", fmt::join(outputs, ", "));
    return fmt::format(R"py("""lib{0}.so as an op of torch for tensors on the CPU, after `sh build`:

    import torch, {0}_torch
    torch.ops.espalier_{0}.run(..)               # inputs as {0}.INPUTS says; weights are packed in every call
    torch.ops.espalier_{0}.pack(tensor, input)   # once: what run() takes in place of input number `input`

{0}_torch.run and {0}_torch.pack are the same. No gradients."""
import ctypes

import torch
import torch.library

import {0} as _code

NAMESPACE = "espalier_{0}"
SCHEMA = "run({1}) -> {2}"

)py",
                       name, fmt::join(inputs, ", "), made) +
           std::string(torch_op_text());
}

} // namespace espalier::codegen
