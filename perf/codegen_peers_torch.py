"""Torch's calls for these blocks, in every layout of the weights: for codegen_peers.py."""

from typing import Callable, Iterator

import torch
import torch.nn.functional as F

from codegen_reference import Tensors

torch.set_num_threads(1)
torch.set_grad_enabled(False)
DTYPES = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}
Calls = Iterator[tuple[str, list[Callable[[], torch.Tensor]], Callable]]


def version() -> str:
    return f"{torch.__version__}, {torch.backends.cpu.get_cpu_capability()}" if hasattr(torch.backends.cpu, "get_cpu_capability") else torch.__version__


def packed_product(weight: torch.Tensor, rows: int) -> Callable:
    """With the weight laid out by oneDNN beforehand, as inductor does it with frozen weights."""
    packed = torch.ops.mkldnn._reorder_linear_weight(weight.t().contiguous(), rows)
    return lambda x: torch.ops.mkldnn._linear_pointwise(x, packed, None, "none", [], "")


def row_major_product(weight: torch.Tensor, _rows: int) -> Callable:
    weight = weight.clone()
    return lambda x: x @ weight


def linear_product(weight: torch.Tensor, _rows: int) -> Callable:
    weight = weight.t().contiguous()
    return lambda x: F.linear(x, weight)


PRODUCTS = {"x @ w": row_major_product, "linear": linear_product, "packed linear": packed_product}


def norms(block: dict) -> dict[str, Callable]:
    shape = (block["k"],)
    return {
        "rms": {"rms_norm": lambda x: F.rms_norm(x, shape),
                "x rsqrt": lambda x: x * torch.rsqrt((x * x).mean(-1, keepdim=True))},
        "layer": {"layer_norm": lambda x: F.layer_norm(x, shape)},
        "softmax": {"softmax": lambda x: torch.softmax(x, -1)},
    }[block["norm"]]


def gated(products: list[Callable]) -> Callable:
    first, second = products
    return lambda x: F.silu(first(x)) * second(x)


def joined(product: Callable) -> Callable:
    def call(x):
        gate, up = product(x).chunk(2, -1)
        return F.silu(gate) * up
    return call


def added(products: list[Callable]) -> Callable:
    whole, down, up = products
    return lambda x: whole(x) + up(down(x))


def linear_calls(tensors: Tensors, x: torch.Tensor, weights: list[torch.Tensor], copies: int) -> Calls:
    rows = x.shape[0]
    for how, product in PRODUCTS.items():
        def each(make, product=product):
            made = []
            for _ in range(copies):
                call = make([product(weight, rows) for weight in weights])
                made.append(lambda call=call: call(x))
            return made
        try:
            if tensors.kind == "normed":
                for norm, function in norms(tensors.block).items():
                    yield f"{norm}, {how}", each(lambda made, f=function: lambda x: made[0](f(x)))
            elif tensors.kind == "gated":
                yield how, each(gated)
                both = torch.cat(weights, 1)
                yield f"{how}, both weights as one", each(lambda _, p=product: joined(p(both, rows)))
            else:
                yield how, each(added)
                if how == "x @ w":
                    w, a, b = weights
                    yield "addmm", [lambda w=w.clone(), a=a.clone(), b=b.clone(): torch.addmm(x @ w, x @ a, b) for _ in range(copies)]
        except (AttributeError, RuntimeError):      # no oneDNN, or not for this dtype
            continue


def attention_calls(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, copies: int) -> Calls:
    """Query heads of one key head are rows of a matrix, or heads of their own as models have them."""
    heads, rows, dim = q.shape
    by_key = [(k.transpose(1, 2).contiguous(), v.clone()) for _ in range(copies)]
    grouped = q[None]
    yield "sdpa, heads grouped as rows", [lambda k=k, v=v: F.scaled_dot_product_attention(grouped, k[None], v[None], scale=1.0)
                                          for k, v in by_key]
    apart = q.reshape(1, heads * min(rows, 4), rows // min(rows, 4), dim)
    yield "sdpa, enable_gqa", [lambda k=k, v=v: F.scaled_dot_product_attention(apart, k[None], v[None], scale=1.0, enable_gqa=True)
                               for k, v in by_key]
    yield "q @ k^T, softmax, @ v", [lambda k=k, v=v: torch.softmax(q @ k.transpose(1, 2), -1) @ v for k, v in by_key]
    across = [(k.clone(), v.clone()) for _ in range(copies)]
    yield "q @ k, softmax, @ v", [lambda k=k, v=v: torch.softmax(q @ k, -1) @ v for k, v in across]


def calls(tensors: Tensors, copies: int) -> Calls:
    inputs = [torch.from_numpy(values).to(DTYPES[tensors.dtype]) for values in tensors.values]
    made = attention_calls(*inputs, copies) if tensors.kind == "attention" else linear_calls(tensors, inputs[0], inputs[1:], copies)
    for how, functions in made:
        yield how, functions, lambda result: result.to(torch.float64).numpy()
