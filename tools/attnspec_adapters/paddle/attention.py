"""Attention in PaddlePaddle on a CPU.

=============================== =====================================================================
Operation                       Mapped to
=============================== =====================================================================
`softmax`                       ``paddle.nn.functional.softmax``; of the whole array by flattening
`scaled_dot_product_attention`  ``paddle.nn.functional.scaled_dot_product_attention`` through the
                                folding helper, its arguments transposed to (B, S, H, E) and back
... `is_causal`                 ``is_causal`` where it is top-left and all that excludes
... `window`, lengths, a past,  one ``attn_mask``, Boolean or float, that says all of them
`alibi_slopes`, other causality
=============================== =====================================================================

=============================== =====================================================================
Operation                       Cannot be expressed
=============================== =====================================================================
`scaled_dot_product_attention`  `softcap`, `sinks`; float16 and bfloat16, for which Paddle has no
                                kernels on a CPU; every output but `output`
others                          Paddle has modules for some of them, which this adapter does not call
=============================== =====================================================================

The conventions were found by running PaddlePaddle 3.3 on a CPU, and the tests run it again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attnspec.families.attention.folding import plain_attention
from attnspec.tensors.libraries import import_library

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

__all__ = ["conventions", "scaled_dot_product_attention", "softmax"]

paddle = import_library("paddle", adapter="paddle")

conventions: Mapping[str, str] = {
    "input_checks": "lenient",
    "softmax.fully_masked_row": "nan",
    "scaled_dot_product_attention.fully_masked_row": "nan",
    "scaled_dot_product_attention.masked_nonfinite": "propagates",
}


def softmax(x: NDArray[Any], axis: int | None = -1) -> NDArray[Any]:
    """Run ``paddle.nn.functional.softmax`` along `axis`, or over the whole array where `axis` is None."""
    tensor = _tensor(x)
    if axis is None:
        return paddle.nn.functional.softmax(tensor.flatten(), axis=0).reshape(tensor.shape).numpy()
    return paddle.nn.functional.softmax(tensor, axis=axis).numpy()


def attend(
    query: NDArray[Any],
    key: NDArray[Any],
    value: NDArray[Any],
    *,
    mask: NDArray[Any] | None = None,
    scale: float | None = None,
    is_causal: bool = False,
) -> NDArray[Any]:
    """Run ``paddle.nn.functional.scaled_dot_product_attention``, which has tokens before heads."""
    output = paddle.nn.functional.scaled_dot_product_attention(
        *(_tensor(array.swapaxes(-3, -2)) for array in (query, key, value)),
        attn_mask=None if mask is None else _tensor(mask),
        scale=scale,
        is_causal=is_causal,
    )
    return output.numpy().swapaxes(-3, -2)


def _tensor(array: NDArray[Any]) -> Any:
    return paddle.to_tensor(array, place=paddle.CPUPlace())


scaled_dot_product_attention = plain_attention(attend, grouped_heads=True)
