"""The built-in adapter `paddle`: attention in PaddlePaddle on a CPU.

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
from attnspec_adapters.attention import softmax_along
from attnspec_adapters.composing import composed

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["adapter"]

paddle = import_library("paddle", adapter="paddle")


@softmax_along
def softmax(x: NDArray[Any], axis: int) -> NDArray[Any]:
    """Run ``paddle.nn.functional.softmax``."""
    return paddle.nn.functional.softmax(_tensor(x), axis=axis).numpy()


def _attend(
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


adapter = composed(
    "paddle",
    str(paddle.__version__),
    softmax,
    plain_attention(_attend, grouped_heads=True),
    dtypes=("float64", "float32"),
    conventions={
        "input_checks": "lenient",
        "softmax.fully_masked_row": "nan",
        "scaled_dot_product_attention.fully_masked_row": "nan",
        "scaled_dot_product_attention.masked_nonfinite": "propagates",
    },
)
