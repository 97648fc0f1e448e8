#!/usr/bin/python3
"""Networks as ONNX files, with seeded random weights that keep activations finite.

    networks.py mobilenet-v3 -o file.onnx [--inputs file.npz]
    networks.py --list                      # small models of small_networks.py among them

Graphs as exporters write them: batch normalization folded, hard-swish as Add 3, Clip 0..6, Mul x, Div 6, GELU and LayerNorm in pieces."""

import argparse
import sys
from pathlib import Path

import numpy as np

import small_networks
from onnx_builder import Graph, inputs_for

CLASSES = 1000


# --- pieces

def hard_sigmoid(g: Graph, x: str) -> str:
    clipped = g.op("Clip", g.op("Add", x, g.constant(3.0)), g.constant(0.0), g.constant(6.0))
    return g.op("Div", clipped, g.constant(6.0))


def hard_swish(g: Graph, x: str) -> str:
    clipped = g.op("Clip", g.op("Add", x, g.constant(3.0)), g.constant(0.0), g.constant(6.0))
    return g.op("Div", g.op("Mul", x, clipped), g.constant(6.0))


def affine(g: Graph, x: str, scale: float, shift: float) -> str:
    """By scalars, as networks with learnable affine blocks have it."""
    return g.op("Add", g.op("Mul", x, g.constant([scale])), g.constant([shift]))


def relu(g: Graph, x: str) -> str:
    return g.op("Relu", x)


def squeeze_excite(g: Graph, x: str, channels: int, inner: int) -> str:
    pooled = g.op("GlobalAveragePool", x)
    inner_out = relu(g, g.conv(pooled, channels, inner, 1))
    return g.op("Mul", x, hard_sigmoid(g, g.conv(inner_out, inner, channels, 1, gain=1.0)))


def classified(g: Graph, x: str, channels: int) -> None:
    g.output(g.linear(g.op("Flatten", x, axis=1), channels, CLASSES, gain=1.0), 1, CLASSES, renamed="logits")


# --- convolution networks

MOBILENET_V3 = [    # kernel, channels inside, channels out, squeeze and excite, hard-swish, stride (Howard et al., 2019, table 1)
    (3, 16, 16, 0, 0, 1), (3, 64, 24, 0, 0, 2), (3, 72, 24, 0, 0, 1), (5, 72, 40, 1, 0, 2), (5, 120, 40, 1, 0, 1),
    (5, 120, 40, 1, 0, 1), (3, 240, 80, 0, 1, 2), (3, 200, 80, 0, 1, 1), (3, 184, 80, 0, 1, 1), (3, 184, 80, 0, 1, 1),
    (3, 480, 112, 1, 1, 1), (3, 672, 112, 1, 1, 1), (5, 672, 160, 1, 1, 2), (5, 960, 160, 1, 1, 1), (5, 960, 160, 1, 1, 1)]


def to_eights(channels: float) -> int:
    return max(8, int(channels + 4) // 8 * 8)


def mobilenet_v3(g: Graph) -> None:
    x = hard_swish(g, g.conv(g.input("image", 1, 3, 224, 224), 3, 16, 3, stride=2))
    channels = 16
    for kernel, inner, out, squeezes, swishes, stride in MOBILENET_V3:
        act = hard_swish if swishes else relu
        y = act(g, g.conv(x, channels, inner, 1)) if inner != channels else x
        y = act(g, g.conv(y, inner, inner, kernel, stride=stride, groups=inner))
        if squeezes:
            y = squeeze_excite(g, y, inner, to_eights(inner / 4))
        y = g.conv(y, inner, out, 1, gain=1.0)
        x, channels = (g.op("Add", x, y) if stride == 1 and channels == out else y), out
    x = hard_swish(g, g.conv(x, channels, 960, 1))
    x = hard_swish(g, g.conv(g.op("GlobalAveragePool", x), 960, 1280, 1))
    classified(g, x, 1280)


LCNET = [           # kernel, channels out, stride, squeeze and excite (Cui et al., 2021, table 1)
    (3, 32, 1, 0), (3, 64, 2, 0), (3, 64, 1, 0), (3, 128, 2, 0), (3, 128, 1, 0), (3, 256, 2, 0), (5, 256, 1, 0), (5, 256, 1, 0),
    (5, 256, 1, 0), (5, 256, 1, 0), (5, 256, 1, 0), (5, 512, 2, 1), (5, 512, 1, 1)]


def lcnet(g: Graph, has_affine: bool) -> None:
    """With scalar affine layers before and after every activation, as its third version has them, or without."""
    def act(x: str) -> str:
        if not has_affine:
            return hard_swish(g, x)
        scales = g.random.uniform(0.9, 1.1, 2)
        return affine(g, hard_swish(g, affine(g, x, scales[0], 0.02)), scales[1], -0.01)

    x, channels = act(g.conv(g.input("image", 1, 3, 224, 224), 3, 16, 3, stride=2)), 16
    for kernel, out, stride, squeezes in LCNET:
        x = act(g.conv(x, channels, channels, kernel, stride=stride, groups=channels))
        if squeezes:
            x = squeeze_excite(g, x, channels, channels // 4)
        x, channels = act(g.conv(x, channels, out, 1)), out
    classified(g, hard_swish(g, g.conv(g.op("GlobalAveragePool", x), channels, 1280, 1)), 1280)


def bottlenecks(g: Graph, groups: int, width: int) -> None:
    """ResNet-50 (He et al., 2016), ResNeXt-50 (Xie et al., 2017)."""
    x = relu(g, g.conv(g.input("image", 1, 3, 224, 224), 3, 64, 7, stride=2))
    x = g.op("MaxPool", x, kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[2, 2])
    channels = 64
    for stage, blocks in enumerate((3, 4, 6, 3)):
        inner, out = width << stage, 256 << stage
        for block in range(blocks):
            stride = 2 if stage > 0 and block == 0 else 1
            y = relu(g, g.conv(x, channels, inner, 1))
            y = relu(g, g.conv(y, inner, inner, 3, stride=stride, groups=groups))
            y = g.conv(y, inner, out, 1, gain=0.2)
            x = g.conv(x, channels, out, 1, stride=stride, gain=1.0) if block == 0 else x
            x, channels = relu(g, g.op("Add", y, x)), out
    classified(g, g.op("GlobalAveragePool", x), channels)


def fire(g: Graph, x: str, channels: int, squeezed: int, expanded: int) -> str:
    x = relu(g, g.conv(x, channels, squeezed, 1))
    return g.op("Concat", *(relu(g, g.conv(x, squeezed, expanded, kernel)) for kernel in (1, 3)), axis=1)


def squeezenet(g: Graph) -> None:
    """Version 1.1 (Iandola et al., 2016)."""
    def pool(x: str) -> str:
        return g.op("MaxPool", x, kernel_shape=[3, 3], pads=[0, 0, 0, 0], strides=[2, 2])

    x, channels = relu(g, g.conv(g.input("image", 1, 3, 224, 224), 3, 64, 3, stride=2)), 64
    for stage in ([(16, 64), (16, 64)], [(32, 128), (32, 128)], [(48, 192), (48, 192), (64, 256), (64, 256)]):
        x = pool(x)
        for squeezed, expanded in stage:
            x, channels = fire(g, x, channels, squeezed, expanded), 2 * expanded
    x = g.op("GlobalAveragePool", relu(g, g.conv(x, channels, CLASSES, 1)))
    g.output(g.op("Flatten", x, axis=1), 1, CLASSES, renamed="logits")


def nasnet_cell(g: Graph, channels: int = 128, size: int = 28) -> None:
    """The normal cell of NasNet-A (Zoph et al., 2018): both inputs squeezed, five sums, one concat."""
    def separable(x: str, kernel: int) -> str:
        return g.conv(g.conv(relu(g, x), channels, channels, kernel, groups=channels), channels, channels, 1, gain=1.0)

    def pool(x: str) -> str:
        return g.op("AveragePool", x, kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[1, 1], count_include_pad=0)

    before, now = (g.conv(relu(g, g.input(name, 1, channels, size, size)), channels, channels, 1) for name in ("before", "now"))
    sums = [g.op("Add", separable(now, 3), now), g.op("Add", separable(before, 3), separable(now, 5)), g.op("Add", pool(now), before),
            g.op("Add", pool(before), pool(before)), g.op("Add", separable(before, 5), separable(before, 3))]
    g.output(g.op("Concat", *sums, axis=1), 1, 5 * channels, size, size, renamed="cell")


# --- products

def layer_norm(g: Graph, x: str, size: int) -> str:
    centred = g.op("Sub", x, g.op("ReduceMean", x, axes=[-1], keepdims=1))
    variance = g.op("ReduceMean", g.op("Pow", centred, g.constant(2.0)), axes=[-1], keepdims=1)
    normal = g.op("Div", centred, g.op("Sqrt", g.op("Add", variance, g.constant(1e-12))))
    return g.op("Add", g.op("Mul", normal, g.constant(g.random.uniform(0.8, 1.2, size))), g.weight(size, fan_in=100))


def gelu(g: Graph, x: str) -> str:
    error = g.op("Erf", g.op("Div", x, g.constant(np.sqrt(2))))
    return g.op("Mul", g.op("Mul", x, g.op("Add", error, g.constant(1.0))), g.constant(0.5))


def bert_layer(g: Graph, tokens: int = 128, size: int = 768, heads: int = 12) -> None:
    """A layer of BERT-base (Devlin et al., 2019), without a mask."""
    def linear(x: str, inner: int, out: int) -> str:
        return g.op("Add", g.weight(out, fan_in=100), g.op("MatMul", x, g.weight(inner, out, fan_in=inner, gain=1.0)))

    def split(x: str, axes: "list[int]") -> str:
        shape = g.constant([1, tokens, heads, size // heads], element="i64")
        return g.op("Transpose", g.op("Reshape", x, shape), perm=axes)

    x = g.input("hidden", 1, tokens, size)
    query, key, inner = (split(linear(x, size, size), axes) for axes in ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3]))
    scores = g.op("Softmax", g.op("Div", g.op("MatMul", query, key), g.constant(np.sqrt(size / heads))), axis=-1)
    context = g.op("Transpose", g.op("MatMul", scores, inner), perm=[0, 2, 1, 3])
    context = g.op("Reshape", context, g.constant([1, tokens, size], element="i64"))
    x = layer_norm(g, g.op("Add", linear(context, size, size), x), size)
    wide = gelu(g, linear(x, size, 4 * size))
    g.output(layer_norm(g, g.op("Add", linear(wide, 4 * size, size), x), size), 1, tokens, size, renamed="layer")


def nasrnn(g: Graph, steps: int = 5, size: int = 512, batch: int = 1) -> None:
    """The cell that architecture search found (Zoph and Le, 2017), as TASO has it; the steps share their weights."""
    weights = [[g.weight(size, size, fan_in=size, gain=1.0) for _ in range(8)] for _ in ("input", "state")]
    inputs = [g.input(f"x{step}", batch, size) for step in range(steps)]
    state = g.input("state", batch, size)
    for x in inputs:
        t = [g.op("Add", g.op("MatMul", x, of_input), g.op("MatMul", state, of_state)) for of_input, of_state in zip(*weights)]
        first = g.op("Add", relu(g, t[0]), g.op("Sigmoid", t[3]))
        second = g.op("Add", g.op("Sigmoid", t[1]), g.op("Tanh", t[2]))
        third = g.op("Mul", g.op("Sigmoid", t[4]), g.op("Tanh", t[5]))
        fourth = g.op("Mul", g.op("Sigmoid", t[6]), relu(g, t[7]))
        fifth = g.op("Add", g.op("Sigmoid", second), g.op("Tanh", third))
        sixth = g.op("Mul", g.op("Tanh", first), g.op("Tanh", fourth))
        state = g.op("Tanh", g.op("Mul", g.op("Tanh", fifth), g.op("Tanh", sixth)))
    g.output(state, batch, size, renamed="last_state")


NETWORKS = {
    "mobilenet-v3": mobilenet_v3,
    "pp-lcnet": lambda g: lcnet(g, has_affine=False),
    "lcnet-v3": lambda g: lcnet(g, has_affine=True),
    "resnet-50": lambda g: bottlenecks(g, groups=1, width=64),
    "resnext-50": lambda g: bottlenecks(g, groups=32, width=128),
    "bert-layer": bert_layer,
    "nasnet-cell": nasnet_cell,
    "squeezenet": squeezenet,
    "nasrnn": nasrnn,
    "bert-layer-small": lambda g: bert_layer(g, tokens=4, size=16, heads=2),
    "nasnet-cell-small": lambda g: nasnet_cell(g, channels=8, size=6),
    "nasrnn-small": lambda g: nasrnn(g, steps=2, size=8),
}
NAMES = [*NETWORKS, *small_networks.NETWORKS, *small_networks.REFUSED]


def make(name: str, seed: int = 1):
    """The model, and the files that belong to it by their names."""
    if name not in NETWORKS:
        return small_networks.make(name, seed)
    graph = Graph(name, seed)
    NETWORKS[name](graph)
    return graph.model(), {}


def write(name: str, path: Path, seed: int = 1):
    """With its files beside it; the model."""
    model, files = make(name, seed)
    path.write_bytes(model.SerializeToString())
    for file, content in files.items():
        path.with_name(file).write_bytes(content)
    return model


def main() -> None:
    made = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("name", nargs="?", choices=NAMES, metavar="NAME", help="see --list")
    made.add_argument("-o", "--output", type=Path, help="the model")
    made.add_argument("--inputs", type=Path, help="also random inputs for it, as .npz")
    made.add_argument("--seed", type=int, default=1, help="of the weights (1)")
    made.add_argument("--list", action="store_true", help="print the names")
    asked = made.parse_args()
    if asked.list:
        print("\n".join(NAMES))
        return
    if asked.name is None or asked.output is None:
        made.error("needs a name and -o FILE")
    model = write(asked.name, asked.output, asked.seed)
    if asked.inputs:
        np.savez(asked.inputs, **inputs_for(model))


if __name__ == "__main__":
    main()
