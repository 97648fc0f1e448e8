"""Small models as ONNX files: one for each form that exporters write and each trap that a rewriter can fall into. They run in milliseconds.

NETWORKS has them by name: a function that fills a graph and returns the model, or a model with the files that belong to it, or nothing if
opset 13 will do. REFUSED are those that no reader may accept."""

import numpy as np

from onnx_builder import ELEMENTS, Graph, onnx, tensor, value

NETWORKS, REFUSED = {}, {}
CHANNELS, SIZE = 8, 6
IMAGE = (1, CHANNELS, SIZE, SIZE)


def network(function):
    NETWORKS[function.__name__.replace("_", "-")] = function
    return function


def refused(function):
    REFUSED[function.__name__.replace("_", "-")] = function
    return function


def image(g: Graph, element: str = "f32") -> str:
    return g.input("image", *IMAGE, element=element)


def convolved(g: Graph, x: str, kernel: int = 1) -> str:
    return g.conv(x, CHANNELS, CHANNELS, kernel)


def clip(g: Graph, x: str, element: str = "f32") -> str:
    return g.op("Clip", x, g.constant(0, element=element), g.constant(6, element=element))


def shifted(g: Graph, x: str, element: str = "f32") -> str:
    return g.op("Add", x, g.constant(3, element=element))


def hard_swish(g: Graph, x: str, element: str = "f32") -> str:
    return g.op("Div", g.op("Mul", x, clip(g, shifted(g, x, element), element)), g.constant(6, element=element))


# --- forms of one function

@network
def hard_swish_exported(g):
    g.output(convolved(g, hard_swish(g, convolved(g, image(g), 3))), *IMAGE)


@network
def hard_swish_divided_first(g):
    x = convolved(g, image(g), 3)
    gate = g.op("Div", clip(g, shifted(g, x)), g.constant(6))
    g.output(convolved(g, g.op("Mul", gate, x)), *IMAGE)


@network
def hard_swish_multiplied(g):
    x = convolved(g, image(g), 3)
    g.output(convolved(g, g.op("Mul", x, g.op("Mul", clip(g, shifted(g, x)), g.constant(1 / 6)))), *IMAGE)


@network
def hard_swish_opset_10(g):
    """The bounds are attributes; constants are nodes."""
    x = convolved(g, image(g), 3)
    clipped = g.op("Clip", g.op("Add", x, g.constant_node(3)), min=0.0, max=6.0)
    g.output(convolved(g, g.op("Div", g.op("Mul", x, clipped), g.constant_node(6))), *IMAGE)
    return g.model(opset=10, ir=4)


@network
def hard_swish_shared(g):
    """The clipped value is an output, too: it stays."""
    x = convolved(g, image(g), 3)
    clipped = clip(g, shifted(g, x))
    g.output(convolved(g, g.op("Div", g.op("Mul", x, clipped), g.constant(6))), *IMAGE)
    g.output(clipped, *IMAGE)


@network
def hard_swish_f16(g):
    x = g.op("Cast", convolved(g, image(g), 3), to=ELEMENTS["f16"][0])
    g.output(g.op("Cast", hard_swish(g, x, "f16"), to=ELEMENTS["f32"][0]), *IMAGE)


@network
def hard_swish_whole_numbers(g):
    """Looks like one, and rounds towards zero."""
    g.output(hard_swish(g, image(g, "i32"), "i32"), *IMAGE, element="i32")


@network
def not_hard_swish(g):
    """Other numbers."""
    x = convolved(g, image(g), 3)
    clipped = g.op("Clip", g.op("Add", x, g.constant(2.5)), g.constant(0.0), g.constant(6.0))
    g.output(convolved(g, g.op("Div", g.op("Mul", x, clipped), g.constant(6))), *IMAGE)


@network
def affine_chain(g):
    """Scalars and one number a channel, before and after convolutions without padding."""
    per_channel = g.constant(g.random.uniform(0.5, 1.5, (1, CHANNELS, 1, 1)))
    x = g.op("Div", g.op("Sub", image(g), g.constant(0.5)), g.constant(0.25))
    x = g.op("Add", g.op("Mul", convolved(g, x), g.constant([1.1])), g.constant([0.2]))
    x = g.op("Add", g.op("Mul", convolved(g, x), per_channel), per_channel)
    g.output(g.op("Mul", g.constant(-0.5), convolved(g, x)), *IMAGE)


@network
def affine_padded(g):
    """What is added before a convolution with padding is no bias."""
    x = g.op("Add", g.op("Mul", image(g), g.constant(1.5)), g.constant(0.25))
    g.output(convolved(g, x, 3), *IMAGE)


@network
def batch_normalized(g):
    numbers = [g.constant(g.random.uniform(0.5, 1.5, CHANNELS)) for _ in range(4)]
    g.output(g.op("Relu", g.op("BatchNormalization", g.conv(image(g), CHANNELS, CHANNELS, 3, bias=False), *numbers, epsilon=1e-5)), *IMAGE)


@network
def grouped(g):
    g.output(g.op("Relu", g.conv(image(g), CHANNELS, CHANNELS, 3, groups=4)), *IMAGE)


# --- products

@network
def shared_input(g):
    x = g.input("x", 2, 16)
    first, second = (g.op("MatMul", x, g.weight(16, 8, fan_in=16)) for _ in range(2))
    g.output(g.op("Add", g.op("Relu", first), g.op("Sigmoid", second)), 2, 8)


@network
def shared_weight(g):
    weight = g.weight(16, 8, fan_in=16)
    g.output(g.op("Mul", *(g.op("MatMul", g.input(name, 2, 16), weight) for name in "xy")), 2, 8)


@network
def dependent_products(g):
    """They share an input, and one needs the other's result: merged, they would wait for each other."""
    x = g.input("x", 8, 8)
    first = g.op("MatMul", x, g.weight(8, 8, fan_in=8))
    g.output(g.op("MatMul", x, g.op("Relu", first)), 8, 8)


# --- what is not understood

@network
def resize_between(g):
    x = g.op("Resize", hard_swish(g, convolved(g, image(g))), "", g.constant([1, 1, 2, 2]), mode="nearest")
    g.output(convolved(g, hard_swish(g, convolved(g, x, 3))), 1, CHANNELS, 2 * SIZE, 2 * SIZE)


@network
def lstm_between(g):
    """With optional inputs and outputs left out."""
    x = g.op("Mul", g.input("x", 5, 1, 8), g.constant(2.0))
    weights = (g.weight(1, 16, 8, fan_in=8), g.weight(1, 16, 4, fan_in=4))
    names = [g.name_for("LSTM") + "_Y", "", "last"]
    y, _, last = g.op("LSTM", x, *weights, "", "", g.constant(np.zeros((1, 1, 4))), hidden_size=4, outputs=names)
    g.output(g.op("Div", y, g.constant(0.5)), 5, 1, 1, 4)
    g.output(last, 1, 1, 4)


@network
def quantized(g):
    scale, zero = g.constant(0.05), g.constant(3, element="i8")
    x = g.op("DequantizeLinear", g.op("QuantizeLinear", convolved(g, image(g)), scale, zero), scale, zero)
    g.output(hard_swish(g, x), *IMAGE)


@network
def if_captures(g):
    """The branches use values from outside, which nothing else uses."""
    x = convolved(g, image(g))
    inner, weight = hard_swish(g, x), g.constant(0.5)
    branches = []
    for op in ("Mul", "Div"):
        branch = Graph(op, outer=g)
        branch.output(branch.op(op, inner, weight), *IMAGE)
        branches.append(branch)
    g.output(g.op("If", g.input("choose", element="bool"), then_branch=branches[0], else_branch=branches[1]), *IMAGE)


@network
def loop_captures(g):
    x, step = g.input("x", 4), g.op("Relu", g.input("step", 4))
    body = Graph("body", outer=g)
    body.input("i", element="i64")
    going = body.op("Identity", body.input("going", element="bool"))
    body.output(going, element="bool")
    body.output(body.op("Add", body.input("sum", 4), step), 4)
    g.output(g.op("Loop", g.constant(3, element="i64"), g.constant(True, element="bool"), x, body=body), 4)


@network
def other_domain(g):
    g.output(hard_swish(g, g.op("Gelu", convolved(g, image(g)), domain="com.microsoft")), *IMAGE)
    return g.model(com_microsoft=1, ai_onnx_ml=2)


@network
def local_function(g):
    g.output(convolved(g, g.op("Swish", convolved(g, image(g)), domain="local")), *IMAGE)
    model = g.model(opset=15, ir=8, local=1)
    function = model.functions.add(name="Swish", domain="local", input=["x"], output=["y"])
    function.opset_import.add(domain="", version=15)
    function.node.add(op_type="Sigmoid", input=["x"], output=["gate"])
    function.node.add(op_type="Mul", input=["x", "gate"], output=["y"])
    return model


@network
def sequence(g):
    """A value that is not a tensor."""
    x = g.op("SequenceConstruct", g.op("Relu", image(g)), g.op("Neg", "image"))
    g.output(g.op("ConcatFromSequence", x, axis=1), 1, 2 * CHANNELS, SIZE, SIZE)


@network
def random_numbers(g):
    """Equal nodes with different results."""
    first, second = (g.op("RandomNormalLike", image(g) if i == 0 else "image") for i in range(2))
    g.output(g.op("Sub", first, second), *IMAGE)


@network
def texts(g):
    """Numbers that are texts for a while: what they stand for is not exactly what they were."""
    text = g.op("Cast", hard_swish(g, image(g)), to=8)
    g.output(hard_swish(g, g.op("Cast", text, to=ELEMENTS["f32"][0])), *IMAGE)


@network
def training_mode(g):
    x = convolved(g, image(g))
    numbers = [g.constant(np.ones(CHANNELS)) for _ in range(4)]
    y, _, _ = g.op("BatchNormalization", x, *numbers, outputs=3, training_mode=1)
    g.output(g.op("Dropout", y, g.constant(0.0), g.constant(True, element="bool")), *IMAGE)
    return g.model(opset=14)


# --- shapes and whole numbers

@network
def integer_side(g):
    """A shape is computed beside the numbers, with a division that rounds."""
    x = convolved(g, image(g))
    width = g.op("Gather", g.op("Shape", x), g.constant(3, element="i64"), axis=0)
    half = g.op("Div", g.op("Add", width, g.constant(1, element="i64")), g.constant(2, element="i64"))
    shape = g.op("Concat", g.constant([-1], element="i64"), g.op("Unsqueeze", half, g.constant([0], element="i64")), axis=0)
    g.output(hard_swish(g, g.op("Reshape", x, shape)), None, None)


@network
def unknown_sizes(g):
    """A name, nothing, and a formula."""
    x = g.input("image", "batch", CHANNELS, None, "floor(width/2) + 1")
    g.output(hard_swish(g, g.conv(x, CHANNELS, CHANNELS, 3)), "batch", CHANNELS, None, "floor(width/2) + 1")


@network
def negative_size(g):
    x = g.input("image", -1, CHANNELS, SIZE, SIZE)
    g.output(hard_swish(g, convolved(g, x)), -1, CHANNELS, SIZE, SIZE)


@network
def no_elements(g):
    x = g.op("Concat", g.input("x", 0, 4), g.op("Relu", g.input("y", 2, 4)), axis=0)
    g.output(g.op("Mul", x, g.constant(2.0)), 2, 4)


@network
def softmax_11(g):
    """Before opset 13 the axes from `axis` on are one."""
    g.output(g.op("Softmax", g.op("Mul", image(g), g.constant(2.0)), axis=1), *IMAGE)
    return g.model(opset=11, ir=6)


@network
def axes_attributes(g):
    left, right = g.op("Split", image(g), outputs=2, axis=1, split=[3, 5])
    flat = g.op("Squeeze", g.op("ReduceSum", right, axes=[1], keepdims=1), axes=[1])
    padded = g.op("Pad", g.op("Unsqueeze", flat, axes=[1]), mode="constant", pads=[0] * 8)
    g.output(g.op("Slice", g.op("Mul", left, padded), starts=[0], ends=[2], axes=[1]), 1, 2, SIZE, SIZE)
    return g.model(opset=9, ir=4)


@network
def axes_inputs(g):
    def whole(numbers):
        return g.constant(numbers, element="i64")

    left, right = g.op("Split", image(g), whole([3, 5]), outputs=2, axis=1)
    flat = g.op("Squeeze", g.op("ReduceSum", right, whole([1]), keepdims=1), whole([1]))
    padded = g.op("Pad", g.op("Unsqueeze", flat, whole([1])), whole([0] * 8), mode="constant")
    g.output(g.op("Slice", g.op("Mul", left, padded), whole([0]), whole([2]), whole([1])), 1, 2, SIZE, SIZE)


# --- constants

@network
def default_inputs(g):
    """The caller may replace the numbers: they are no constants."""
    scale = g.input("scale", 1)
    g.constant([1.0], name=scale)
    g.output(g.op("Mul", convolved(g, image(g)), scale), *IMAGE)


@network
def listed_constants(g):
    """In IR 3 every constant is listed as an input."""
    g.output(g.op("Relu", convolved(g, image(g), 3)), *IMAGE)
    for one in g.proto.initializer:
        g.proto.input.append(value(one.name, list(one.dims), "f32"))
    return g.model(opset=8, ir=3)


@network
def constant_nodes(g):
    weight = g.constant_node(g.random.standard_normal((CHANNELS, CHANNELS, 1, 1)) / 3)
    scale, shift = g.op("Constant", value_float=1.5), g.op("Constant", value_floats=[0.5])
    g.output(g.op("Add", g.op("Mul", g.op("Conv", image(g), weight), scale), shift), *IMAGE)


@network
def constant_of_shape(g, rows: int = 256, columns: int = 65536):
    """A file of a few hundred bytes, 64 MB when it is folded."""
    weight = g.op("ConstantOfShape", g.constant([rows, columns], element="i64"), value=np.array([0.001], np.float32))
    product = g.op("MatMul", g.input("x", 1, rows), g.op("Mul", weight, g.constant(2.0)))
    g.output(g.op("ReduceMean", product, axes=[1]), 1, 1)


@network
def sparse_constant(g):
    made = g.proto.sparse_initializer.add(dims=[8, 8])
    made.values.CopyFrom(tensor(np.asarray([2, -1, 0.5], np.float32), "weight"))
    made.indices.CopyFrom(tensor(np.asarray([0, 9, 63], np.int64), "where"))
    g.output(g.op("Relu", g.op("MatMul", g.input("x", 2, 8), "weight")), 2, 8)


@network
def external_data(g):
    """The weights begin at an offset in a file of their own."""
    numbers = (g.random.standard_normal((CHANNELS, CHANNELS, 1, 1)) / 3).astype(np.float32).tobytes()
    g.output(g.op("Conv", image(g), external(g, "external-data.bin", 64, len(numbers))), *IMAGE)
    return g.model(), {"external-data.bin": bytes(64) + numbers + b"more"}


def external(g: Graph, location: str, offset: int, length: int) -> str:
    made = tensor(np.zeros((CHANNELS, CHANNELS, 1, 1), np.float32), "weight")
    made.ClearField("raw_data")
    made.data_location = onnx().TensorProto.EXTERNAL
    for key, one in (("location", location), ("offset", offset), ("length", length)):
        made.external_data.add(key=key, value=str(one))
    g.proto.initializer.append(made)
    return made.name


@refused
def external_data_elsewhere(g):
    g.output(g.op("Conv", image(g), external(g, "../external-data.bin", 0, 256)), *IMAGE)


@refused
def external_data_too_short(g):
    g.output(g.op("Conv", image(g), external(g, "too-short.bin", 0, 256)), *IMAGE)
    return g.model(), {"too-short.bin": bytes(255)}


# --- graphs

@network
def many_outputs(g):
    """One that is used inside, an input, a constant, and one twice under two names."""
    x = convolved(g, image(g))
    y = hard_swish(g, x)
    g.output(x, *IMAGE)
    g.output(y, *IMAGE)
    g.output(y, *IMAGE, renamed="again")
    g.output("image", *IMAGE, renamed="as it came")
    g.output(g.constant([1.0, 2.0], name="a constant"), 2)


@network
def input_as_output(g):
    """Without a node between them."""
    g.output(g.op("Relu", convolved(g, image(g))), *IMAGE)
    g.output("image", *IMAGE)


@network
def odd_names(g):
    """Nodes without names, and names that look like something else."""
    x = g.input("serving_default/image:0", *IMAGE)
    y = g.op("Conv", x, g.weight(CHANNELS, CHANNELS, 1, 1, fan_in=CHANNELS, name="weights of 'x' / \"y\""), name="", outputs=["größe::1"])
    g.output(g.op("Relu", y, name="", outputs=["StatefulPartitionedCall:0"]), *IMAGE)


@network
def out_of_order(g):
    g.output(hard_swish(g, convolved(g, image(g))), *IMAGE)
    nodes = [*reversed(g.proto.node)]
    del g.proto.node[:]
    g.proto.node.extend(nodes)


@network
def twice_the_same(g):
    x = convolved(g, image(g))
    g.output(g.op("Concat", hard_swish(g, x), hard_swish(g, x), axis=1), 1, 2 * CHANNELS, SIZE, SIZE)


@network
def unused(g):
    """Inputs, constants and nodes that nothing needs."""
    x = convolved(g, image(g))
    g.input("ignored", 3)
    g.weight(100, fan_in=1)
    g.op("Neg", x)
    g.output(g.op("Relu", x), *IMAGE)


@network
def nothing_to_do(g):
    g.output(g.op("Identity", image(g)), *IMAGE)


@network
def described(g):
    """Documentation, metadata, types of inner values, a producer."""
    x = convolved(g, image(g))
    g.proto.value_info.append(value(x, IMAGE, "f32"))
    g.output(hard_swish(g, x), *IMAGE)
    g.proto.doc_string = "what the graph is for"
    g.proto.node[0].doc_string = "what the node is for"
    g.proto.output[0].doc_string = "what comes out"
    model = g.model()
    model.doc_string, model.domain, model.model_version, model.producer_version = "about the model", "org.example", 3, "1.2"
    model.metadata_props.add(key="author", value="someone")
    return model


def make(name: str, seed: int = 1):
    """The model, and the files that belong to it by their names."""
    graph = Graph(name, seed)
    made = {**NETWORKS, **REFUSED}[name](graph)
    if made is None:
        made = graph.model()
    return made if isinstance(made, tuple) else (made, {})
