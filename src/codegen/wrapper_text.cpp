#include "wrapper_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace espalier::codegen {
namespace {

std::string tuple_of(program::Shape const& shape) {
    return fmt::format("({},)", fmt::join(shape.begin(), shape.end(), ", "));
}

/// What numpy and torch call a dtype; numpy has no bf16, whose bits are then a uint16.
struct PythonDType {
    std::string_view numpy, torch;
};
constexpr std::array<PythonDType, 4> python_dtypes{
    {{"float16", "float16"}, {"uint16", "bfloat16"}, {"float32", "float32"}, {"float64", "float64"}}};

constexpr std::string_view body = R"py(

_library = ctypes.CDLL(os.path.join(os.path.dirname(os.path.abspath(__file__)), f"{NAME}.so"))
_library[f"{NAME}_workspace_bytes"].restype = ctypes.c_ulong
_library[f"{NAME}_packed_bytes"].restype = ctypes.c_ulong


def _address(array):
    if isinstance(array, Packed):
        return array.address
    return array.data_ptr() if hasattr(array, "data_ptr") else array.ctypes.data


def _check(array, name, shape):
    if tuple(array.shape) != shape:
        raise ValueError(f"{name}: shape {tuple(array.shape)}, not {shape}")
    is_torch = hasattr(array, "data_ptr")
    dtype = str(array.dtype).rpartition(".")[2]
    if dtype != (TORCH_DTYPE if is_torch else NUMPY_DTYPE):
        raise TypeError(f"{name}: {dtype}, not {TORCH_DTYPE if is_torch else NUMPY_DTYPE}")
    if is_torch and array.device.type != "cpu":
        raise ValueError(f"{name}: on {array.device}, not on the CPU")
    if not (array.is_contiguous() if is_torch else array.flags["C_CONTIGUOUS"]):
        raise ValueError(f"{name}: not contiguous: make it so before the call")


class Packed:
    """A weight as the program takes it."""

    def __init__(self, index, array):
        self.index, self.shape = index, tuple(array.shape)
        self._memory = ctypes.create_string_buffer(_library[f"{NAME}_packed_bytes"](index) + 64)
        self.address = (ctypes.addressof(self._memory) + 63) // 64 * 64
        _library[f"{NAME}_pack"](index, ctypes.c_void_p(_address(array)), ctypes.c_void_p(self.address))


def pack(index, array):
    """Input `index` as run() takes it most quickly: pack weights once and pass what this gives in every call."""
    _check(array, *INPUTS[index])
    return Packed(index, array) if _library[f"{NAME}_packed_bytes"](index) else array


def run(*inputs):
    """The outputs for these inputs: arrays of numpy, or tensors of torch on the CPU. One, or a tuple of several."""
    if len(inputs) != len(INPUTS):
        raise TypeError(f"{NAME} takes {len(INPUTS)} arrays, got {len(inputs)}")
    for index, array in enumerate(inputs):
        if isinstance(array, Packed) and array.index != index:
            raise ValueError(f"{INPUTS[index][0]}: packed as input {array.index}")
    plain = [array for array in inputs if not isinstance(array, Packed)]
    inputs = [array if isinstance(array, Packed) else pack(index, array) for index, array in enumerate(inputs)]
    if plain and hasattr(plain[0], "data_ptr"):
        outputs = [plain[0].new_empty(shape) for shape in OUTPUTS]
    else:
        import numpy
        outputs = [numpy.empty(shape, NUMPY_DTYPE) for shape in OUTPUTS]
    size = _library[f"{NAME}_workspace_bytes"]() + 64
    workspace = ctypes.create_string_buffer(size)
    start = (ctypes.addressof(workspace) + 63) // 64 * 64
    pointers = lambda arrays: (ctypes.c_void_p * len(arrays))(*map(_address, arrays))
    if _library[NAME](pointers(inputs), pointers(outputs), ctypes.c_void_p(start)) != 0:
        raise RuntimeError(f"{NAME} refused to run")
    return outputs[0] if len(outputs) == 1 else tuple(outputs)
)py";

} // namespace

std::string wrapper_source(Plan const& plan, std::string const& name) {
    std::string inputs, outputs;
    for (auto const& input : plan.inputs) inputs += fmt::format("(\"{}\", {}), ", input.name, tuple_of(input.shape));
    for (auto const& shape : plan.outputs) outputs += tuple_of(shape) + ", ";
    auto const& dtype = python_dtypes[static_cast<std::size_t>(plan.dtype)];
    return fmt::format(
               "\"\"\"{0}.so for numpy and torch: `from {0} import run`, after `sh build`.\"\"\"\nimport "
               "ctypes\nimport "
               "os\n\nNAME = \"{0}\"\nINPUTS = ({1})\nOUTPUTS = ({2})\nNUMPY_DTYPE = \"{3}\"\nTORCH_DTYPE = \"{4}\"\n",
               name, inputs, outputs, dtype.numpy, dtype.torch) +
           std::string(body);
}

} // namespace espalier::codegen
