"""The blocks that codegen.py measures, in float64, on inputs that are rounded to a dtype."""

import math
from functools import cached_property

import numpy


def round_to_bf16(values: numpy.ndarray) -> numpy.ndarray:
    """Bits of the nearest numbers, ties to even."""
    bits = values.astype(numpy.float32).view(numpy.uint32)
    return ((bits + 0x7fff + (bits >> 16 & 1)) >> 16).astype(numpy.uint16)


def widen_bf16(bits: numpy.ndarray) -> numpy.ndarray:
    return (bits.astype(numpy.uint32) << 16).view(numpy.float32)


def softmax(values: numpy.ndarray) -> numpy.ndarray:
    powers = numpy.exp(values - values.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


NORMS = {
    "rms": lambda x: x / numpy.sqrt(numpy.mean(x * x, axis=-1, keepdims=True)),
    "layer": lambda x: (x - x.mean(axis=-1, keepdims=True)) / numpy.sqrt(x.var(axis=-1, keepdims=True)),
    "softmax": softmax,
}


class Tensors:
    """Inputs of a block in the order of its program: activations first. Weights are scaled so that results are about 1."""

    def __init__(self, block: dict, dtype: str):
        self.block, self.dtype, self.kind = block, dtype, block["kind"]

    @cached_property
    def shapes(self) -> list[tuple[int, ...]]:
        b = self.block
        if self.kind == "attention":
            return [(b["heads"], b["rows"], b["dim"]), (b["heads"], b["dim"], b["keys"]), (b["heads"], b["keys"], b["dim"])]
        weights = {"normed": [(b["k"], b["n"])], "gated": [(b["k"], b["n"])] * 2,
                   "lora": [(b["k"], b["n"]), (b["k"], b.get("rank")), (b.get("rank"), b["n"])]}[self.kind]
        return [(b["m"], b["k"])] + weights

    @property
    def output_shape(self) -> tuple[int, ...]:
        b = self.block
        return (b["heads"], b["rows"], b["dim"]) if self.kind == "attention" else (b["m"], b["n"])

    @cached_property
    def values(self) -> list[numpy.ndarray]:
        """In float32, each a number of the dtype."""
        random = numpy.random.default_rng(1)
        out = []
        for i, shape in enumerate(self.shapes):
            scale = 1 / math.sqrt(shape[0]) if i > 0 and self.kind != "attention" else 1
            scale = self.block["dim"] ** -0.5 if i == 0 and self.kind == "attention" else scale
            out.append(self.rounded(random.standard_normal(shape, numpy.float32) * numpy.float32(scale)))
        return out

    def rounded(self, values: numpy.ndarray) -> numpy.ndarray:
        if self.dtype == "bf16":
            return widen_bf16(round_to_bf16(values))
        return values.astype({"f32": numpy.float32, "f16": numpy.float16}[self.dtype]).astype(numpy.float32)

    def stored(self) -> list[numpy.ndarray]:
        """As they are in memory; bf16 as its bits."""
        if self.dtype == "bf16":
            return [round_to_bf16(values) for values in self.values]
        return [values.astype({"f32": numpy.float32, "f16": numpy.float16}[self.dtype]) for values in self.values]

    def widened(self, stored: numpy.ndarray) -> numpy.ndarray:
        return (widen_bf16(stored) if self.dtype == "bf16" else stored).astype(numpy.float64)

    def weight_bytes(self) -> int:
        return sum(values.size for values in self.values[1:]) * (4 if self.dtype == "f32" else 2)

    def expected(self) -> numpy.ndarray:
        x, *w = (values.astype(numpy.float64) for values in self.values)
        if self.kind == "attention":
            return softmax(x @ w[0]) @ w[1]
        if self.kind == "normed":
            return NORMS[self.block["norm"]](x) @ w[0]
        if self.kind == "gated":
            gate = x @ w[0]
            return gate / (1 + numpy.exp(-gate)) * (x @ w[1])
        return x @ w[0] + x @ w[1] @ w[2]
