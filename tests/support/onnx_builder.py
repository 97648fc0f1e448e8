"""ONNX files without the onnx package: protoc makes Python code of the description that Debian ships (libonnx-dev), and a small builder
puts graphs together with seeded random weights."""

import importlib
import math
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

import numpy as np

SCHEMA = Path("/usr/include/onnx/onnx.proto")
ELEMENTS = {"f32": (1, np.float32), "u8": (2, np.uint8), "i8": (3, np.int8), "i32": (6, np.int32), "i64": (7, np.int64),
            "bool": (9, np.bool_), "f16": (10, np.float16), "f64": (11, np.float64)}
NUMBERS = {np.dtype(kind): number for number, kind in ELEMENTS.values()}


@cache
def onnx():
    """The messages of ONNX."""
    if not SCHEMA.exists():
        raise SystemExit(f"{SCHEMA}: no such file: install libonnx-dev (run/setup --test)")
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["protoc", f"--proto_path={SCHEMA.parent}", f"--python_out={folder}", SCHEMA.name], check=True)
        sys.path.insert(0, folder)
        try:
            return importlib.import_module("onnx_pb2")
        except ModuleNotFoundError:
            raise SystemExit(f"{sys.executable} has no google.protobuf: install python3-protobuf (run/setup --test)") from None
        finally:
            sys.path.remove(folder)


def tensor(array: np.ndarray, name: str = ""):
    """In the little-endian form that most files have."""
    array = np.asarray(array)
    return onnx().TensorProto(name=name, dims=array.shape, data_type=NUMBERS[array.dtype], raw_data=array.tobytes())


def attribute(name: str, value):
    kinds = onnx().AttributeProto
    made = kinds(name=name)
    if isinstance(value, np.ndarray):
        made.t.CopyFrom(tensor(value))
        made.type = kinds.TENSOR
    elif isinstance(value, Graph):
        made.g.CopyFrom(value.proto)
        made.type = kinds.GRAPH
    elif isinstance(value, str):
        made.s, made.type = value.encode(), kinds.STRING
    elif isinstance(value, float):
        made.f, made.type = value, kinds.FLOAT
    elif isinstance(value, int):
        made.i, made.type = value, kinds.INT
    elif all(isinstance(one, int) for one in value):
        made.ints.extend(value)
        made.type = kinds.INTS
    elif all(isinstance(one, str) for one in value):
        made.strings.extend(one.encode() for one in value)
        made.type = kinds.STRINGS
    else:
        made.floats.extend(value)
        made.type = kinds.FLOATS
    return made


def value(name: str, shape, element: str):
    """`shape` has sizes, names of sizes, and None for what nobody knows; it may be None as a whole."""
    made = onnx().ValueInfoProto(name=name)
    made.type.tensor_type.elem_type = ELEMENTS[element][0]
    if shape is not None:
        made.type.tensor_type.shape.SetInParent()
        for size in shape:
            dimension = made.type.tensor_type.shape.dim.add()
            if isinstance(size, int):
                dimension.dim_value = size
            elif size is not None:
                dimension.dim_param = size
    return made


class Graph:
    """A graph that grows node by node. Values are their names."""

    def __init__(self, name: str, seed: int = 1, outer: "Graph | None" = None):
        self.proto = onnx().GraphProto(name=name)
        self.random = outer.random if outer else np.random.default_rng(seed)
        self.counts = outer.counts if outer else {}     # names are unique in branches, too

    def name_for(self, op: str) -> str:
        """As exporters name them."""
        number = self.counts[op] = self.counts.get(op, -1) + 1
        return f"/{op}" + (f"_{number}" if number else "")

    def input(self, name: str, *shape, element: str = "f32") -> str:
        self.proto.input.append(value(name, shape, element))
        return name

    def output(self, name: str, *shape, element: str = "f32", renamed: str = "") -> str:
        """With another name through Identity, if asked for. Without sizes: of unknown shape."""
        if renamed:
            name = self.op("Identity", name, outputs=[renamed])
        self.proto.output.append(value(name, shape or None, element))
        return name

    def constant(self, array, name: str = "", element: str = "f32") -> str:
        """An initializer."""
        name = name or self.name_for("constant")[1:]
        self.proto.initializer.append(tensor(np.asarray(array, ELEMENTS[element][1]), name))
        return name

    def constant_node(self, array, element: str = "f32") -> str:
        return self.op("Constant", value=np.asarray(array, ELEMENTS[element][1]))

    def weight(self, *shape: int, fan_in: float, gain: float = 2.0, name: str = "", element: str = "f32") -> str:
        """Normal numbers, of a size that keeps the variance of activations; gain 2 is for what relu halves."""
        numbers = self.random.standard_normal(shape, np.float32) * math.sqrt(gain / fan_in)
        return self.constant(numbers, name or self.name_for("weight")[1:], element)

    def op(self, kind: str, *inputs: str, outputs: "int | list[str]" = 1, domain: str = "", name: "str | None" = None, **attributes):
        """Its output, or a list of them."""
        name = self.name_for(kind) if name is None else name
        names = outputs if isinstance(outputs, list) else [f"{name}_output_{i}" for i in range(outputs)]
        node = self.proto.node.add(op_type=kind, name=name, domain=domain, input=inputs, output=names)
        node.attribute.extend(attribute(key, one) for key, one in attributes.items())
        return names[0] if len(names) == 1 else names

    def conv(self, x: str, channels: int, out: int, kernel: int, *, stride: int = 1, groups: int = 1, bias: bool = True,
             gain: float = 2.0) -> str:
        """Same padding; a bias stands for the batch normalization that exporters fold."""
        weight = self.weight(out, channels // groups, kernel, kernel, fan_in=kernel * kernel * channels / groups, gain=gain)
        inputs = [x, weight] + ([self.weight(out, fan_in=100)] if bias else [])
        return self.op("Conv", *inputs, dilations=[1, 1], group=groups, kernel_shape=[kernel] * 2, pads=[kernel // 2] * 4,
                       strides=[stride] * 2)

    def linear(self, x: str, inner: int, out: int, gain: float = 2.0) -> str:
        weight = self.weight(out, inner, fan_in=inner, gain=gain)
        return self.op("Gemm", x, weight, self.weight(out, fan_in=100), alpha=1.0, beta=1.0, transB=1)

    def model(self, opset: int = 13, ir: int = 7, **opsets: int):
        """`opsets`: of further domains, with _ for the dots."""
        made = onnx().ModelProto(ir_version=ir, producer_name="espalier tests", graph=self.proto)
        for domain, version in {"": opset, **{name.replace("_", "."): version for name, version in opsets.items()}}.items():
            made.opset_import.add(domain=domain, version=version)
        return made


def inputs_for(model, seed: int = 7) -> "dict[str, np.ndarray]":
    """Random numbers for what the caller must give; sizes that are not known are 1."""
    random = np.random.default_rng(seed)
    kinds = {number: kind for number, kind in ELEMENTS.values()}
    initial = {one.name for one in model.graph.initializer}
    out = {}
    for one in model.graph.input:
        if one.name not in initial:
            kind = kinds[one.type.tensor_type.elem_type]
            dims = one.type.tensor_type.shape.dim
            shape = [size.dim_value if size.HasField("dim_value") and size.dim_value >= 0 else 1 for size in dims]
            is_whole = np.issubdtype(kind, np.integer)
            numbers = random.integers(-9, 10, shape) if is_whole else random.standard_normal(shape)
            out[one.name] = np.asarray(numbers > 0 if kind == np.bool_ else numbers).astype(kind)
    return out
