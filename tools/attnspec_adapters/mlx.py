"""The built-in adapter `mlx`: attention in MLX on a CPU.

=============================== =====================================================================
Operation                       Mapped to
=============================== =====================================================================
`softmax`                       ``mx.softmax``
`scaled_dot_product_attention`  ``mx.fast.scaled_dot_product_attention``, through the folding helper
... `is_causal`                 ``mask="causal"`` where it is bottom-right and all that excludes
... `sinks`                     ``sinks``
... `window`, lengths, a past,  one ``mask``, Boolean or float, that says all of them
`alibi_slopes`, other causality
=============================== =====================================================================

=============================== =====================================================================
Operation                       Cannot be expressed
=============================== =====================================================================
`scaled_dot_product_attention`  `softcap`; tensors without heads, which MLX does not broadcast; every
                                output but `output`
others                          MLX has modules for some of them, which this adapter does not call
=============================== =====================================================================

A row without keys is the mean of all values where a Boolean mask excludes them, and NaN where a float mask does: ALiBi
makes a Boolean mask a float one. float64 is computed in part in float32. ``mx.softmax`` is called as it is, without its
``precise=True``. The conventions were found by running MLX 0.32 on a CPU, and the tests run it again.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnspec.contract.dtypes import FLOAT_DTYPES, numpy_dtype
from attnspec.families.attention.folding import plain_attention
from attnspec.tensors.libraries import import_library
from attnspec_adapters.composing import composed

__all__ = ["adapter"]

mx = import_library("mlx.core", adapter="mlx")


def softmax(x: NDArray[Any], axis: int | None = -1) -> NDArray[Any]:
    """Run ``mx.softmax`` along `axis`, or over the whole array where `axis` is None."""
    with mx.stream(mx.cpu):
        return _array(mx.softmax(_tensor(x), axis=axis))


def _attend(
    query: NDArray[Any],
    key: NDArray[Any],
    value: NDArray[Any],
    *,
    mask: NDArray[Any] | None,
    scale: float,
    is_causal: bool = False,
    sinks: NDArray[Any] | None = None,
) -> NDArray[Any]:
    """Run ``mx.fast.scaled_dot_product_attention``."""
    with mx.stream(mx.cpu):
        exclude = "causal" if is_causal else None if mask is None else _tensor(mask)
        return _array(
            mx.fast.scaled_dot_product_attention(
                _tensor(query),
                _tensor(key),
                _tensor(value),
                scale=scale,
                mask=exclude,
                sinks=None if sinks is None else _tensor(sinks),
            )
        )


def _tensor(array: NDArray[Any]) -> Any:
    # A copy in the same order of axes, because MLX refuses strides that run backwards; left to itself it makes float32
    # of float64.
    dtype = mx.bool_ if array.dtype == np.bool_ else getattr(mx, array.dtype.name)
    return mx.array(np.array(array, order="K"), dtype=dtype)


def _array(tensor: Any) -> NDArray[Any]:
    # NumPy does not read MLX's bfloat16.
    if tensor.dtype == mx.bfloat16:
        return np.array(tensor.view(mx.uint16)).view(numpy_dtype("bfloat16"))
    return np.array(tensor)


adapter = composed(
    "mlx",
    str(mx.__version__),
    softmax,
    plain_attention(_attend, grouped_heads=True, causal_alignment="bottom_right"),
    dtypes=FLOAT_DTYPES,
    conventions={
        "accumulation": "float32",
        "softmax.fully_masked_row": "nan",
        "scaled_dot_product_attention.fully_masked_row": "uniform",
        "scaled_dot_product_attention.fully_masked_row@float_mask": "nan",
        "scaled_dot_product_attention.fully_masked_row@alibi_slopes": "nan",
        "scaled_dot_product_attention.masked_nonfinite": "propagates",
    },
    without=("empty_heads",),
)
