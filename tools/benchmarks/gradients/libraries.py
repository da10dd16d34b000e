"""Gradients of attention by libraries, where they are installed: PyTorch's kernels and autograd, and JAX."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from gradients.draws import Draw

    Gradients = dict[str, NDArray[Any]]

NAMES = ("grad_query", "grad_key", "grad_value")


class Library(NamedTuple):
    """One way of a library.

    `gradients`: gives the gradients of queries, keys and values in a dtype; `dtypes`: the dtypes in which it computes
    as they say; `is_fused`: whether it holds the fused grade of half precision.
    """

    gradients: Callable[[Draw, str], Gradients]
    dtypes: tuple[str, ...]
    is_fused: bool


def _addend(draw: Draw) -> NDArray[Any]:
    """Return 0 where a key may be attended and minus infinity elsewhere (B, Hq, Sq, K)."""
    return np.where(draw.attendable, 0.0, -np.inf)


def _of_torch(draw: Draw, dtype: str, backend: str | None) -> Gradients:
    """Run PyTorch's attention, or its steps one by one, and go back by autograd."""
    torch: Any = import_module("torch")
    leaves = {
        name: torch.from_numpy(draw.inputs[name]).to(getattr(torch, dtype)).requires_grad_()
        for name in ("query", "key", "value")
    }
    shared = draw.shared
    query, (key, value) = leaves["query"], (leaves[name].repeat_interleave(shared, 1) for name in ("key", "value"))
    mask = torch.from_numpy(_addend(draw)).to(query.dtype)
    if backend is None:
        scores = (query @ key.mT) * draw.factor + mask
        output = torch.softmax(scores, dim=-1) @ value
    else:
        attention: Any = import_module("torch.nn.attention")
        with attention.sdpa_kernel(getattr(attention.SDPBackend, backend)):
            output = torch.nn.functional.scaled_dot_product_attention(
                query, key, value, attn_mask=mask, scale=draw.factor
            )
    output.backward(torch.from_numpy(draw.inputs["grad_output"]).to(output.dtype))
    return {f"grad_{name}": leaf.grad.to(torch.float64).numpy() for name, leaf in leaves.items()}


def _by_operator_of_torch(draw: Draw, dtype: str) -> Gradients:
    """Run PyTorch's own backward operator of its flash kernel on what its forward operator gives."""
    torch: Any = import_module("torch")
    operators = torch.ops.aten
    query, key, value, grad = (
        torch.from_numpy(draw.inputs[name]).to(getattr(torch, dtype))
        for name in ("query", "key", "value", "grad_output")
    )
    shared = draw.shared
    key, value = key.repeat_interleave(shared, 1), value.repeat_interleave(shared, 1)
    mask = torch.from_numpy(_addend(draw)).to(query.dtype)
    output, logsumexp = operators._scaled_dot_product_flash_attention_for_cpu(
        query, key, value, 0.0, False, attn_mask=mask, scale=draw.factor
    )
    found = operators._scaled_dot_product_flash_attention_for_cpu_backward(
        grad, query, key, value, output, logsumexp, 0.0, False, attn_mask=mask, scale=draw.factor
    )
    of_query, *of_heads = (part.to(torch.float64).numpy() for part in found)
    summed = [x.reshape(x.shape[0], -1, shared, *x.shape[2:]).sum(axis=2) for x in of_heads]
    return dict(zip(NAMES, (of_query, *summed), strict=True))


def _of_jax(draw: Draw, dtype: str, *, in_steps: bool) -> Gradients:
    """Run JAX's attention, or its steps one by one, and go back by grad."""
    jax: Any = import_module("jax")
    numpy: Any = import_module("jax.numpy")
    jax.config.update("jax_enable_x64", True)
    shared = draw.shared
    tensors = [numpy.asarray(draw.inputs[name], dtype) for name in ("query", "key", "value")]
    grad = numpy.asarray(draw.inputs["grad_output"], dtype)
    attendable = numpy.asarray(draw.attendable)

    def attend(query: Any, key: Any, value: Any) -> Any:
        if in_steps:
            key, value = (numpy.repeat(x, shared, axis=1) for x in (key, value))
            scores = (query @ key.swapaxes(-1, -2)) * numpy.asarray(draw.factor, dtype)
            return jax.nn.softmax(numpy.where(attendable, scores, -numpy.inf), axis=-1) @ value
        moved = (x.swapaxes(1, 2) for x in (query, key, value))
        return jax.nn.dot_product_attention(*moved, mask=attendable, scale=draw.factor).swapaxes(1, 2)

    _, back = jax.vjp(attend, *tensors)
    return dict(zip(NAMES, (np.asarray(x, np.float64) for x in back(grad)), strict=True))


def libraries() -> dict[str, Library]:
    """Return every way of a library that is installed."""
    found: dict[str, Library] = {}
    every, wide = ("float64", "float32", "float16", "bfloat16"), ("float64", "float32")
    if find_spec("torch"):
        found |= {
            "torch, math path": Library(lambda draw, dtype: _of_torch(draw, dtype, "MATH"), every, True),
            "torch, flash path": Library(lambda draw, dtype: _of_torch(draw, dtype, "FLASH_ATTENTION"), every, False),
            "torch, backward operator": Library(_by_operator_of_torch, every, False),
            "torch, step by step": Library(lambda draw, dtype: _of_torch(draw, dtype, None), every, False),
        }
    if find_spec("jax"):
        found |= {
            "JAX, dot_product_attention": Library(
                lambda draw, dtype: _of_jax(draw, dtype, in_steps=False), every[1:], False
            ),
            "JAX, step by step": Library(lambda draw, dtype: _of_jax(draw, dtype, in_steps=True), wide, False),
        }
    return found
