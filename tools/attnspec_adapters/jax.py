"""The built-in adapter `jax`: attention in JAX on a CPU, compiled by ``jax.jit``.

=============================== =====================================================================
Operation                       Mapped to
=============================== =====================================================================
`softmax`                       ``jax.nn.softmax``
`scaled_dot_product_attention`  ``jax.nn.dot_product_attention``, its arguments transposed to
                                (B, S, H, E) and its results back
... Boolean `mask`              ``mask``
... float `mask`                ``bias`` where it is finite, ``mask`` where it is -inf
... `key_lengths`               ``key_value_seq_lengths``
... `query_lengths`             ``query_seq_lengths``
... `window`                    ``local_window_size``; an open side is as wide as the sequences
... `logsumexp`                 ``return_residual``
... its backward pass           ``jax.vjp`` of the same; `grad_mask` is the gradient of ``bias``
=============================== =====================================================================

=============================== =====================================================================
Operation                       Cannot be expressed
=============================== =====================================================================
`scaled_dot_product_attention`  an Ev other than E; bottom-right alignment; `past_key`, `softcap`,
                                `sinks`, `alibi_slopes`: it has no argument for them; `weights`,
                                `scores`, `logits`; float16, for which ``jax.jit`` does not compile it
                                on a CPU ("F16_F16_F32 is not supported by dot_general"); bfloat16
                                with one query of one feature and 128 keys or more, for the same
                                reason ("Algorithm not supported ...: ALG_DOT_BF16_BF16_F32")
... its backward pass           the same; `grad_logsumexp`: what ``return_residual`` gives comes behind
                                ``jax.lax.stop_gradient``; `delta`, `grad_scores`
others                          JAX has no operator for them; Flax and Keras do
=============================== =====================================================================

A float mask goes by two arguments because JAX has two answers for a row in which every key is excluded: the mean of
all values where ``mask`` did it, and NaN where ``bias`` did.

JAX does not compute all of float64 in float64 here: its attention takes the softmax in float32 whatever comes in, so
that this adapter declares `accumulation`. 64-bit numbers are enabled for the calls alone. A call is one program, which
is kept in the user's cache, for compiling takes nine tenths of a run. The conventions were found by running JAX 0.10 on
a CPU, and the tests run it again.
"""

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnspec.base.errors import Unsupported
from attnspec.tensors.jax_programs import programs_on_disk
from attnspec.tensors.libraries import import_library
from attnspec.tensors.of_jax import let_go_of_programs
from attnspec_adapters.composing import composed, taking

__all__ = ["adapter"]

jax = import_library("jax", adapter="jax")


def softmax(x: NDArray[Any], axis: int | None = -1) -> NDArray[Any]:
    """Run ``jax.nn.softmax`` along `axis`, or over the whole array where `axis` is None."""
    with _on_a_cpu():
        return np.asarray(_compiled(jax.nn.softmax, ("axis",))(x, axis=axis))


@taking("mask key_lengths query_lengths is_causal scale window")
def scaled_dot_product_attention(given: SimpleNamespace) -> dict[str, NDArray[Any]]:
    """Run ``jax.nn.dot_product_attention`` on (B, H, S, E) and return `output` and `logsumexp`.

    `Unsupported` for values of another width than the keys, and for a product that JAX does not compile on a CPU.
    """
    arrays, options = _as_jax_takes_them(given)
    let_go_of_programs()
    with _on_a_cpu(), _what_compiles():
        outputs = _compiled(_attend, _OPTIONS)(arrays, **options)
        return {name: np.asarray(array) for name, array in outputs.items()}


# Of the forward pass it takes `output` and `logsumexp`, and jax.vjp keeps its own.
@taking("output logsumexp mask key_lengths query_lengths is_causal scale window")
def scaled_dot_product_attention_backward(given: SimpleNamespace) -> dict[str, NDArray[Any]]:
    """Run it forwards, and return what ``jax.vjp`` gives for `grad_output`; raises as forwards."""
    arrays, options = _as_jax_takes_them(given)
    let_go_of_programs()
    with _on_a_cpu(), _what_compiles():
        found = _compiled(_gradients, _OPTIONS)(arrays, given.grad_output, **options)
        return {"grad_mask" if name == "bias" else f"grad_{name}": np.asarray(array) for name, array in found.items()}


def _as_jax_takes_them(given: SimpleNamespace) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """Return the arrays, a float mask as a bias and what it excludes, and the other arguments under JAX's names."""
    query, key, value = given.query, given.key, given.value
    mask: NDArray[Any] | None = given.mask
    if value.ndim == key.ndim and value.shape == (*key.shape[:-1], value.shape[-1]) and value.shape != key.shape:
        raise Unsupported("jax's dot_product_attention takes values as wide as the keys only")
    arrays: dict[str, NDArray[Any]] = {"query": query, "key": key, "value": value}
    options: dict[str, Any] = {"is_causal": given.is_causal, "scale": given.scale}
    if mask is not None and mask.dtype != np.bool_:
        excluded = np.isneginf(mask)
        arrays["bias"] = np.where(excluded, 0, mask).astype(mask.dtype)
        mask = ~excluded if excluded.any() else None
    if mask is not None:
        arrays["mask"] = mask
    for argument, lengths in (
        ("key_value_seq_lengths", given.key_lengths),
        ("query_seq_lengths", given.query_lengths),
    ):
        if lengths is not None:
            arrays[argument] = lengths.astype(np.int32)
    if given.window is not None:
        # No key is farther away than this.
        open_side = max(query.shape[-2], key.shape[-2])
        options["local_window_size"] = tuple(open_side if side is None else side for side in given.window)
    return arrays, options


def _attend(arrays: Mapping[str, Any], **options: Any) -> dict[str, Any]:
    """Run ``jax.nn.dot_product_attention`` on (B, H, S, E)."""
    others = {name: array for name, array in arrays.items() if name not in ("query", "key", "value")}
    output, logsumexp = jax.nn.dot_product_attention(
        *(arrays[name].swapaxes(-3, -2) for name in ("query", "key", "value")),
        return_residual=True,
        **others,
        **options,
    )
    return {"output": output.swapaxes(-3, -2), "logsumexp": logsumexp.swapaxes(-2, -1)}


def _gradients(arrays: Mapping[str, Any], grad_output: Any, **options: Any) -> Mapping[str, Any]:
    """Run it forwards and backwards, and return the gradients of all floats."""

    def output_of(floats: Mapping[str, Any]) -> Any:
        return _attend({**arrays, **floats}, **options)["output"]

    _, pull_back = jax.vjp(output_of, {name: arrays[name] for name in _DIFFERENTIABLE if name in arrays})
    (found,) = pull_back(grad_output)
    return found


@contextmanager
def _what_compiles() -> Generator[None]:
    """Decline what the compiler has no code for."""
    try:
        yield
    except jax.errors.JaxRuntimeError as error:
        if _NOT_COMPILED in str(error):
            raise Unsupported(f"jax does not compile this on a CPU: {_NOT_COMPILED}") from None
        raise


_DIFFERENTIABLE = ("query", "key", "value", "bias")

_OPTIONS = ("is_causal", "scale", "local_window_size")
"""Arguments of ``jax.nn.dot_product_attention`` that are part of a program, and no arrays that it takes."""

_NOT_COMPILED = "Algorithm not supported by the ElementalIrEmitter"
"""Message of the compiler about a product of two single numbers, for which it has no code that accumulates wider."""


@cache
def _compiled(function: Callable[..., Any], static: tuple[str, ...]) -> Callable[..., Any]:
    return jax.jit(function, static_argnames=static)


@contextmanager
def _on_a_cpu() -> Generator[None]:
    # On other devices float32 products are rounded more by default, which is not what is declared here.
    with jax.enable_x64(True), jax.default_device(jax.devices("cpu")[0]), programs_on_disk():
        yield


adapter = composed(
    "jax",
    str(jax.__version__),
    softmax,
    scaled_dot_product_attention,
    scaled_dot_product_attention_backward,
    dtypes=("float64", "float32", "bfloat16"),
    conventions={
        "input_checks": "lenient",
        "softmax.fully_masked_row": "nan",
        "scaled_dot_product_attention.accumulation": "float32",
        "scaled_dot_product_attention.causal_alignment": "top_left",
        "scaled_dot_product_attention.fully_masked_row": "uniform",
        "scaled_dot_product_attention.half_precision_grade": "fused",
        "scaled_dot_product_attention.masked_nonfinite": "propagates",
    },
)
