"""Tensor programs evaluated by numpy in float64: programs as a person writes them, op by op, and the graphs of `show --format json`, with
their blocks, loops and threads. Slow and plain; shares no code with the program that it checks."""

import itertools
import math

import numpy as np

erf = np.vectorize(math.erf, otypes=[float])


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


UNARY = {"exp": np.exp, "square": lambda x: x * x, "sqrt": np.sqrt, "silu": lambda x: x * sigmoid(x), "tanh": np.tanh,
         "gelu": lambda x: x * 0.5 * (1 + erf(x / math.sqrt(2))), "relu": lambda x: np.where(x < 0, 0, x), "sigmoid": sigmoid,
         "log": np.log, "abs": np.abs, "reciprocal": lambda x: 1 / x, "neg": lambda x: -x, "rsqrt": lambda x: 1 / np.sqrt(x),
         "cast": lambda x: x}
BINARY = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "pow": np.power, "maximum": np.maximum,
          "minimum": np.minimum, "exp_sub": lambda a, b: np.exp(a - b)}
REDUCED = {"sum": np.sum, "max": np.max, "min": np.min, "mean": np.mean}


def axes_of(attributes):
    axis = attributes.get("axis", -1)
    return tuple(int(a) for a in axis) if isinstance(axis, list) else int(axis)


def sum_to(x, axis, size):
    axis %= x.ndim
    shape = x.shape[:axis] + (x.shape[axis] // size, size) + x.shape[axis + 1:]
    return x.reshape(shape).sum(axis=axis)


def rms(x, axis, eps):
    return np.sqrt((x * x).mean(axis=axis, keepdims=True) + eps)


def centred(x, axis):
    return x - x.mean(axis=axis, keepdims=True)


def softmax(x, axis):
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


def sliced(x, attributes):
    axis = int(attributes.get("axis", -1)) % x.ndim
    start, end = attributes.get("from", 0), attributes.get("to", x.shape[axis])
    index = [slice(None)] * x.ndim
    index[axis] = slice(int(start) % x.shape[axis] if start < 0 else int(start), int(end) + x.shape[axis] if end < 0 else int(end))
    return x[tuple(index)]


def matmul(a, b):
    return np.atleast_1d(np.matmul(a, b))       # of two vectors: [1]


def apply(op, operands, attributes):
    """One op of the table or composition, by name; attributes are numbers and lists of them."""
    x = operands[0]
    axis, eps = axes_of(attributes), attributes.get("eps", 0)
    if op in ("max", "min") and len(operands) == 2:
        op += "imum"
    if op in UNARY:
        return UNARY[op](x)
    if op in BINARY:
        return BINARY[op](*operands)
    if op in REDUCED:
        return REDUCED[op](x, axis=axis, keepdims=True)
    moved = {"transpose": lambda: np.transpose(x, [int(i) for i in np.atleast_1d(attributes["permutation"])]) if "permutation" in attributes else np.swapaxes(x, -1, -2),
             "reshape": lambda: x.reshape([int(n) for n in np.atleast_1d(attributes["shape"])]),
             "slice": lambda: sliced(x, attributes)}
    if op in moved:
        return moved[op]()
    if op.startswith("concat") and op != "concat_matmul":
        return np.concatenate(operands, axis=axis)
    others = {"matmul": lambda: matmul(*operands), "matmul_nt": lambda: np.matmul(x, np.swapaxes(operands[1], -1, -2)),
              "concat_matmul": lambda: np.matmul(x, operands[2]) + np.matmul(operands[1], operands[3]),
              "scale": lambda: x * attributes.get("by", 1) / attributes.get("over", 1), "shift": lambda: x + attributes.get("by", 0),
              "clamp": lambda: np.clip(x, attributes.get("low", -np.inf), attributes.get("high", np.inf)),
              "sum_to": lambda: sum_to(x, axis, int(attributes["size"])), "rms": lambda: rms(x, axis, eps),
              "rms_norm": lambda: x / rms(x, axis, eps), "center": lambda: centred(x, axis),
              "layer_norm": lambda: centred(x, axis) / rms(centred(x, axis), axis, eps),
              "softmax": lambda: softmax(x, axis), "unsafe_softmax": lambda: np.exp(x) / np.exp(x).sum(axis=axis, keepdims=True),
              "variance": lambda: (centred(x, axis) ** 2).mean(axis=axis, keepdims=True)}
    return others[{"rmsnorm": "rms_norm", "layernorm": "layer_norm"}.get(op, op)]()


def accumulated(op, steps, attributes):
    """The result of an accumulator for the operands that it has at every step of the loop."""
    axis, eps = axes_of(attributes), attributes.get("eps", 0)
    tiles = [operands[0] for operands in steps]
    if op.startswith("accumulate_rescaled"):
        largest = np.maximum.reduce([operands[1] for operands in steps])
        rescaled = (x * np.exp(m - largest) for x, m in steps)
        return sum(x.sum(axis=axis, keepdims=True) if op.endswith("sum") else x for x in rescaled)
    if op == "accumulate":
        return sum(tiles)
    if op == "accumulate_rms":
        squares = [(x * x).sum(axis=axis, keepdims=True) for x in tiles]
        count = sum(x.size // square.size for x, square in zip(tiles, squares))
        return np.sqrt(sum(squares) / count + eps)
    if op == "accumulate_sum_to":
        return sum(sum_to(x, axis, int(attributes["size"])) for x in tiles)
    kind = op.removeprefix("accumulate_")
    return {"sum": np.add, "max": np.maximum, "min": np.minimum}[kind].reduce([REDUCED[kind](x, axis=axis, keepdims=True) for x in tiles])


def part(x, cuts):
    """One tile, the very last of which may be smaller; `cuts` has for a dimension the parts that it is cut into, outermost first, as (how
    many, which)."""
    for dim, parts in cuts.items():
        count, which = 1, 0
        for many, one in parts:
            count, which = count * many, which * many + one
        size = -(-x.shape[dim] // count)
        x = np.take(x, range(which * size, min((which + 1) * size, x.shape[dim])), axis=dim)
    return x


def tile(x, partition, schedule, block, step):
    cuts = {}
    for axis, dim in enumerate(partition["grid"]):
        if dim >= 0:
            cuts.setdefault(dim, []).append((schedule["grid"][axis], block[axis]))
    if partition["loop"] >= 0:
        cuts.setdefault(partition["loop"], []).append((schedule["loop"], step))
    return part(x, cuts)


class Block:
    """One block of a grid; tensors of the loop are made again at every step."""

    def __init__(self, graph, operands, block):
        self.graph, self.operands, self.block = graph, operands, block
        self.schedule = graph["schedule"]
        self.made = {}

    def value(self, tensor, step):
        key = (tensor, step)
        if key not in self.made:
            self.made[key] = self.compute(tensor, step)
        return self.made[key]

    def compute(self, tensor, step):
        inputs = len(self.operands)
        if tensor < inputs:
            return tile(self.operands[tensor], self.schedule["inputs"][tensor], self.schedule, self.block, step)
        op, output = maker(self.graph, inputs, tensor)
        if op["op"].startswith("accumulate"):
            steps = [[self.value(i, s) for i in op["in"]] for s in range(self.schedule["loop"])]
            return accumulated(op["op"], steps, op.get("attributes", {}))
        operands = [self.value(i, step) for i in op["in"]]
        if op["op"] == "graph":
            return evaluate(self.graph["bodies"][op["body"]], operands)[output]
        return apply(op["op"], operands, op.get("attributes", {}))


def maker(graph, inputs, tensor):
    """The op that makes a tensor, and which of its outputs that is."""
    first = inputs
    for op in graph["ops"]:
        count = len(graph["bodies"][op["body"]]["outputs"]) if op["op"] == "graph" else 1
        if tensor < first + count:
            return op, tensor - first
        first += count
    raise IndexError(tensor)


def run_kernel(graph, operands):
    """All blocks, each at its place in the outputs."""
    schedule = graph["schedule"]
    grid, joins = schedule["grid"], schedule["output"]
    outputs, sizes, ends = ([None] * len(graph["outputs"]) for _ in range(3))
    for block in itertools.product(*(range(n) for n in grid)):
        one = Block(graph, operands, block)
        for i, tensor in enumerate(graph["outputs"]):
            made = one.value(tensor, 0)
            counts, places = [1] * made.ndim, [0] * made.ndim
            for axis, dim in enumerate(joins):
                if dim >= 0:
                    places[dim] = places[dim] * grid[axis] + block[axis]
                    counts[dim] *= grid[axis]
            if outputs[i] is None:      # the first tile, which is as large as any
                sizes[i] = made.shape
                outputs[i] = np.full([n * c for n, c in zip(made.shape, counts)], np.nan)
            starts = [p * n for p, n in zip(places, sizes[i])]
            outputs[i][tuple(slice(start, start + n) for start, n in zip(starts, made.shape))] = made
            ends[i] = [start + n for start, n in zip(starts, made.shape)]
    return [output[tuple(slice(0, end) for end in last)] for output, last in zip(outputs, ends)]


def evaluate(graph, operands):
    """The outputs of a kernel or thread graph as JSON has it."""
    tensors = list(operands)
    for op in graph["ops"]:
        inside = [tensors[i] for i in op["in"]]
        if op["op"] != "graph":
            tensors.append(apply(op["op"], inside, op.get("attributes", {})))
            continue
        body = graph["bodies"][op["body"]]
        tensors += run_kernel(body, inside) if body["level"] == "block" else evaluate(body, inside)
    return [tensors[i] for i in graph["outputs"]]
