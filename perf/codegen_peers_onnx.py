"""The blocks as models of onnxruntime, whose weights are constants: for codegen_peers.py."""

from typing import Callable, Iterator

import numpy
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

from codegen_reference import Tensors, widen_bf16

DTYPES = {"f32": TensorProto.FLOAT, "f16": TensorProto.FLOAT16, "bf16": TensorProto.BFLOAT16}
NUMPY = {"f32": numpy.float32, "f16": numpy.float16, "bf16": numpy.uint16}
CONTRIBUTED = "com.microsoft"


def version() -> str:
    return onnxruntime.__version__


def node(op: str, inputs: str, output: str, **attributes):
    return helper.make_node(op, inputs.split(), output.split(), **attributes)


NORMS = {
    "rms": {"RMSNormalization": lambda: [node("RMSNormalization", "x ones", "y")],
            "primitives": lambda: [node("Mul", "x x", "s"), node("ReduceMean", "s last", "m"), node("Sqrt", "m", "r"),
                                   node("Div", "x r", "y")]},
    "layer": {"LayerNormalization": lambda: [node("LayerNormalization", "x ones", "y")]},
    "softmax": {"Softmax": lambda: [node("Softmax", "x", "y")]},
}


def gated_nodes() -> list:
    return [node("MatMul", "x w1", "g"), node("Sigmoid", "g", "t"), node("Mul", "g t", "s"), node("MatMul", "x w2", "u"),
            node("Mul", "s u", "z")]


def lora_nodes() -> list:
    return [node("MatMul", "x w1", "p"), node("MatMul", "x w2", "t"), node("MatMul", "t w3", "l"), node("Add", "p l", "z")]


class Model:
    """A session on one thread; `constants` are initializers, `given` stay in memory of their own."""

    def __init__(self, tensors: Tensors, nodes: list, constants: dict, given: dict, output_shape: tuple):
        kind = DTYPES[tensors.dtype]
        initializers = [numpy_helper.from_array(value, name) if name == "last" else
                        helper.make_tensor(name, kind, value.shape, value.tobytes(), raw=True) for name, value in constants.items()]
        graph = helper.make_graph(
            nodes, "block", [helper.make_tensor_value_info(name, self.kind_of(value, kind), value.shape) for name, value in given.items()],
            [helper.make_tensor_value_info(nodes[-1].output[0], kind, output_shape)]
            + [helper.make_tensor_value_info(name, kind, None) for name in nodes[-1].output[1:]], initializers)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23), helper.make_opsetid(CONTRIBUTED, 1)])
        model.ir_version = 11
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 4
        self.session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        self.kept = [self.value(value, kind) for value in given.values()]
        self.binding = self.session.io_binding()
        for name, value in zip(given, self.kept):
            self.binding.bind_ortvalue_input(name, value)
        self.output = self.value(numpy.zeros(output_shape, NUMPY[tensors.dtype]), kind)
        self.binding.bind_ortvalue_output(nodes[-1].output[0], self.output)

    @staticmethod
    def kind_of(value: numpy.ndarray, kind: int) -> int:
        return TensorProto.INT32 if value.dtype == numpy.int32 else kind

    @staticmethod
    def value(value: numpy.ndarray, kind: int):
        if kind == TensorProto.BFLOAT16:
            return onnxruntime.OrtValue.ortvalue_from_numpy_with_onnx_type(value, kind)
        return onnxruntime.OrtValue.ortvalue_from_numpy(value)

    def __call__(self):
        self.session.run_with_iobinding(self.binding)
        return self.output


def block_nodes(tensors: Tensors) -> dict[str, list]:
    if tensors.kind == "gated":
        return {"MatMul": gated_nodes()}
    if tensors.kind == "lora":
        return {"MatMul": lora_nodes()}
    return {f"{how}, MatMul": nodes() + [node("MatMul", "y w1", "z")] for how, nodes in NORMS[tensors.block["norm"]].items()}


def linear_models(tensors: Tensors) -> Iterator[tuple[str, Callable[[], Model]]]:
    x, *weights = tensors.stored()
    constants = {f"w{i + 1}": weight for i, weight in enumerate(weights)}
    if tensors.kind == "normed":
        ones = tensors.rounded(numpy.ones(tensors.block["k"], numpy.float32))
        constants["ones"] = (ones.view(numpy.uint32) >> 16).astype(numpy.uint16) if tensors.dtype == "bf16" else ones.astype(x.dtype)
        constants["last"] = numpy.array([-1], numpy.int64)
    for how, nodes in block_nodes(tensors).items():
        used = {name for one in nodes for name in one.input}
        own = {name: value for name, value in constants.items() if name in used}
        yield how, lambda nodes=nodes, own=own: Model(tensors, nodes, own, {"x": x}, tensors.output_shape)


def attention_models(tensors: Tensors) -> Iterator[tuple[str, Callable[[], Model]]]:
    q, k, v = tensors.stored()
    by_key = numpy.ascontiguousarray(k.transpose(0, 2, 1))
    multiplied = [node("Softmax", "s", "a"), node("MatMul", "a v", "z")]
    yield "MatMul by rows", lambda: Model(tensors, [node("MatMul", "q k", "s"), *multiplied], {}, {"q": q, "k": k.copy(), "v": v.copy()},
                                          tensors.output_shape)
    yield "MatMul by keys", lambda: Model(tensors, [node("Transpose", "k", "t", perm=[0, 2, 1]), node("MatMul", "q t", "s"), *multiplied],
                                          {}, {"q": q, "k": by_key.copy(), "v": v.copy()}, tensors.output_shape)
    yield "Attention, heads grouped as rows", lambda: Model(
        tensors, [node("Attention", "q k v", "z", scale=1.0)], {}, {"q": q[None], "k": by_key[None].copy(), "v": v[None].copy()},
        (1, *tensors.output_shape))
    if tensors.block["rows"] <= 8:
        yield "GroupQueryAttention", lambda: cached_model(tensors, q, by_key, v)


def cached_model(tensors: Tensors, q: numpy.ndarray, by_key: numpy.ndarray, v: numpy.ndarray) -> Model:
    """One new token: the last key and value are given, earlier ones are in a cache, to which the new ones are added."""
    heads, rows, dim = q.shape
    keys = by_key.shape[1]
    given = {"q": q.reshape(1, 1, heads * rows * dim), "k": by_key[:, -1].reshape(1, 1, heads * dim), "v": v[:, -1].reshape(1, 1, heads * dim),
             "past_k": by_key[None].copy(), "past_v": v[None].copy(), "last": numpy.array([keys - 1], numpy.int32),
             "total": numpy.array(keys, numpy.int32)}
    one = node("GroupQueryAttention", "q k v past_k past_v last total", "z new_k new_v", num_heads=heads * rows, kv_num_heads=heads, scale=1.0,
               domain=CONTRIBUTED)
    model = Model(tensors, [one], {}, given, (1, 1, heads * rows * dim))
    for name, index in (("new_k", 3), ("new_v", 4)):
        model.binding.bind_ortvalue_output(name, model.kept[index])
    return model


def calls(tensors: Tensors, copies: int) -> Iterator[tuple[str, list[Model], Callable]]:
    def widened(value) -> numpy.ndarray:
        found = value.numpy()
        return widen_bf16(found).astype(numpy.float64) if found.dtype == numpy.uint16 else found.astype(numpy.float64)
    models = attention_models(tensors) if tensors.kind == "attention" else linear_models(tensors)
    for how, make in models:
        try:
            yield how, [make() for _ in range(copies)], widened
        except Exception as why:        # onnxruntime has its own for every reason, none of which it exports
            if "onnxruntime" not in type(why).__module__:
                raise
