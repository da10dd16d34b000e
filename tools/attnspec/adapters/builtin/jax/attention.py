"""Attention in JAX on a CPU, compiled by ``jax.jit``.

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
others                          JAX has no operator for them; Flax and Keras do
=============================== =====================================================================

A float mask goes by two arguments because JAX has two answers for a row in which every key is excluded: the mean of
all values where ``mask`` did it, and NaN where ``bias`` did.

What JAX computes in float64 here is not all float64: its attention takes the softmax in float32 whatever comes in, so
that this adapter declares `accumulation`. 64-bit numbers are enabled for the calls alone. The conventions were found by
running JAX 0.10 on a CPU, and the tests run it again.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec.adapters.builtin.libraries import import_library
from attnspec.errors import Unsupported

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

__all__ = ["conventions", "scaled_dot_product_attention", "softmax"]

jax = import_library("jax", adapter="jax")

conventions: Mapping[str, str] = {
    "input_checks": "lenient",
    "softmax.fully_masked_row": "nan",
    "scaled_dot_product_attention.accumulation": "float32",
    "scaled_dot_product_attention.causal_alignment": "top_left",
    "scaled_dot_product_attention.fully_masked_row": "uniform",
    "scaled_dot_product_attention.half_precision_grade": "fused",
    "scaled_dot_product_attention.masked_nonfinite": "propagates",
}


def softmax(x: NDArray[Any], axis: int | None = -1) -> NDArray[Any]:
    """Run ``jax.nn.softmax`` along `axis`, or over the whole array where `axis` is None."""
    with jax.enable_x64(True), _on_a_cpu():
        return np.asarray(_compiled(jax.nn.softmax, ("axis",))(x, axis=axis))


def scaled_dot_product_attention(
    query: NDArray[Any],
    key: NDArray[Any],
    value: NDArray[Any],
    *,
    mask: NDArray[Any] | None = None,
    key_lengths: NDArray[Any] | None = None,
    query_lengths: NDArray[Any] | None = None,
    is_causal: bool = False,
    scale: float | None = None,
    window: Sequence[int | None] | None = None,
) -> dict[str, NDArray[Any]]:
    """Run ``jax.nn.dot_product_attention`` on (B, H, S, E) and return `output` and `logsumexp`.

    Raises
    ------
    Unsupported
        For values of another width than the keys, and for a product that JAX does not compile on a CPU.
    """
    if value.ndim == key.ndim and value.shape == (*key.shape[:-1], value.shape[-1]) and value.shape != key.shape:
        raise Unsupported("jax's dot_product_attention takes values as wide as the keys only")
    arguments: dict[str, Any] = {}
    if mask is not None and mask.dtype != np.bool_:
        excluded = np.isneginf(mask)
        arguments["bias"] = np.where(excluded, 0, mask).astype(mask.dtype)
        mask = ~excluded if excluded.any() else None
    if mask is not None:
        arguments["mask"] = mask
    for argument, lengths in (("key_value_seq_lengths", key_lengths), ("query_seq_lengths", query_lengths)):
        if lengths is not None:
            arguments[argument] = lengths.astype(np.int32)
    if window is not None:
        # No key is farther away than this.
        open_side = max(query.shape[-2], key.shape[-2])
        arguments["local_window_size"] = tuple(open_side if side is None else side for side in window)
    attend = _compiled(
        jax.nn.dot_product_attention, ("is_causal", "scale", "local_window_size", "implementation", "return_residual")
    )
    with jax.enable_x64(True), _on_a_cpu():
        try:
            output, logsumexp = attend(
                *(array.swapaxes(-3, -2) for array in (query, key, value)),
                is_causal=is_causal,
                scale=scale,
                return_residual=True,
                **arguments,
            )
        except jax.errors.JaxRuntimeError as error:
            if _NOT_COMPILED in str(error):
                raise Unsupported(f"jax does not compile this on a CPU: {_NOT_COMPILED}") from None
            raise
        return {
            "output": np.asarray(output).swapaxes(-3, -2),
            "logsumexp": np.asarray(logsumexp).swapaxes(-2, -1),
        }


_NOT_COMPILED = "Algorithm not supported by the ElementalIrEmitter"
"""What the compiler says of a product of two single numbers, for which it has no code that accumulates wider."""


@cache
def _compiled(function: Callable[..., Any], static: tuple[str, ...]) -> Callable[..., Any]:
    return jax.jit(function, static_argnames=static)


def _on_a_cpu() -> Any:
    # On other devices float32 products are rounded more by default, which is not what is declared here.
    return jax.default_device(jax.devices("cpu")[0])
