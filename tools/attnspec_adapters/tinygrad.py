"""The built-in adapter `tinygrad`: attention in tinygrad, on its device PYTHON unless ``DEV`` says otherwise.

=============================== =====================================================================
Operation                       Mapped to
=============================== =====================================================================
`softmax`                       ``Tensor.softmax``; of the whole array by flattening
`scaled_dot_product_attention`  ``Tensor.scaled_dot_product_attention`` through the folding helper;
                                ``enable_gqa`` where the numbers of heads differ
... `is_causal`                 ``is_causal`` where it is top-left and all that excludes
... `scale`                     folded into the query, by powers of two alone
... `window`, lengths, a past,  one ``attn_mask``, Boolean or float, that says all of them
`alibi_slopes`, other causality
=============================== =====================================================================

=============================== =====================================================================
Operation                       Cannot be expressed
=============================== =====================================================================
`scaled_dot_product_attention`  a `scale` that would round the query; `softcap`, `sinks`; float16,
                                which the device PYTHON does not run; every output but `output`
both                            more than 1,024 scores, or numbers, on the device PYTHON
others                          tinygrad has no operator for them
=============================== =====================================================================

The device PYTHON interprets what tinygrad would compile, and takes seconds for what others do at once. The conventions
were found by running tinygrad 0.14 on it, and the tests run it again.
"""

import math
from contextlib import AbstractContextManager, nullcontext
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnspec.base.errors import Unsupported
from attnspec.contract.dtypes import numpy_dtype
from attnspec.families.attention.folding import plain_attention
from attnspec.tensors.libraries import import_library
from attnspec_adapters.attention import softmax_along
from attnspec_adapters.composing import composed

__all__ = ["adapter"]

tinygrad = import_library("tinygrad", adapter="tinygrad")
helpers = import_library("tinygrad.helpers", adapter="tinygrad")


_MOST_INTERPRETED = 1024
"""Scores that take it about half a second on a processor of 2024."""


@softmax_along
def softmax(x: NDArray[Any], axis: int) -> NDArray[Any]:
    """Run ``Tensor.softmax``."""
    with _device(x.size):
        return _array(_tensor(x).softmax(axis))


def _attend(
    query: NDArray[Any],
    key: NDArray[Any],
    value: NDArray[Any],
    *,
    mask: NDArray[Any] | None = None,
    is_causal: bool = False,
) -> NDArray[Any]:
    """Run ``Tensor.scaled_dot_product_attention``, with ``enable_gqa`` where the numbers of heads differ."""
    with _device(math.prod(query.shape[:-1]) * key.shape[-2]):
        output = _tensor(query).scaled_dot_product_attention(
            _tensor(key),
            _tensor(value),
            attn_mask=None if mask is None else _tensor(mask),
            is_causal=is_causal,
            enable_gqa=query.shape[-3] != key.shape[-3],
        )
        return _array(output)


def _device(numbers: int) -> AbstractContextManager[Any]:
    if helpers.DEV.device:
        return nullcontext()
    if numbers > _MOST_INTERPRETED:
        raise Unsupported(f"tinygrad's interpreter takes long for {numbers} numbers; DEV=CPU has them compiled")
    # Its interpreter alone needs no compiler.
    return helpers.Context(DEV="PYTHON")


def _tensor(array: NDArray[Any]) -> Any:
    if array.dtype.name == "bfloat16":
        return tinygrad.Tensor(array.view(np.uint16).copy()).bitcast(tinygrad.dtypes.bfloat16)
    return tinygrad.Tensor(np.ascontiguousarray(array))


def _array(tensor: Any) -> NDArray[Any]:
    # NumPy does not know bfloat16.
    if tensor.dtype == tinygrad.dtypes.bfloat16:
        return tensor.float().numpy().astype(numpy_dtype("bfloat16"))
    return tensor.numpy()


adapter = composed(
    "tinygrad",
    version("tinygrad"),
    softmax,
    plain_attention(_attend, grouped_heads=True),
    dtypes=("float64", "float32", "bfloat16"),
    conventions={
        "input_checks": "lenient",
        "softmax.fully_masked_row": "nan",
        "scaled_dot_product_attention.fully_masked_row": "nan",
        "scaled_dot_product_attention.masked_nonfinite": "propagates",
    },
)
