"""The built-in adapter `openvino`: attention in OpenVINO on a CPU, a model for each operator and each set of shapes.

=============================== =====================================================================
Operation                       Mapped to
=============================== =====================================================================
`softmax`                       ``Softmax``, opset 8; of the whole array by flattening
`scaled_dot_product_attention`  ``ScaledDotProductAttention``, opset 13, through the folding helper
... `is_causal`                 ``causal`` where it is top-left and all that excludes
... `window`, lengths, a past,  one ``attention_mask``, Boolean or float, that says all of them
`alibi_slopes`, other causality
... shared heads                key and value heads are repeated
=============================== =====================================================================

=============================== =====================================================================
Operation                       Cannot be expressed
=============================== =====================================================================
`scaled_dot_product_attention`  `softcap`, `sinks`; a `scale` beyond what the dtype holds, of which it
                                is a tensor; empty tensors: with some the model is refused, and without
                                keys the output is what lay in memory; every output but `output`
others                          OpenVINO has no operator for them
=============================== =====================================================================

``INFERENCE_PRECISION_HINT`` is float32: left to itself OpenVINO computes float32 in bfloat16 on processors that are
fast at it. It computes everything in float32 then, float64 too. The conventions were found by running OpenVINO 2026.4
on a CPU, and the tests run it again.
"""

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnspec.base.errors import Unsupported
from attnspec.contract.dtypes import FLOAT_DTYPES, LARGEST, numpy_dtype
from attnspec.families.attention.folding import plain_attention
from attnspec.tensors.libraries import import_library
from attnspec_adapters.attention import softmax_along
from attnspec_adapters.composing import composed

__all__ = ["adapter"]

openvino = import_library("openvino", adapter="openvino")
operators = import_library("openvino.opset13", adapter="openvino")


_KEPT = 16
"""Compiled models that are kept: the same case comes several times in a row, and a model takes some megabytes."""


@softmax_along
def softmax(x: NDArray[Any], axis: int) -> NDArray[Any]:
    """Run ``Softmax``."""
    return _run(_softmax(x.dtype.name, x.shape, axis), [x])


def _attend(
    query: NDArray[Any],
    key: NDArray[Any],
    value: NDArray[Any],
    *,
    mask: NDArray[Any] | None = None,
    scale: float | None = None,
    is_causal: bool = False,
) -> NDArray[Any]:
    """Run ``ScaledDotProductAttention``, in which a scale stands behind a mask: a zero where there is none."""
    dtype = query.dtype
    arrays = [query, key, value]
    if scale is not None:
        if abs(scale) > LARGEST[dtype.name]:
            raise Unsupported(f"OpenVINO takes the scale in {dtype.name}, which does not hold {scale:g}")
        arrays += [np.zeros((), dtype) if mask is None else mask, np.array(scale, dtype)]
    elif mask is not None:
        arrays += [mask]
    return _run(_attention(tuple((array.dtype.name, array.shape) for array in arrays), is_causal), arrays)


@lru_cache(_KEPT)
def _softmax(dtype: str, shape: tuple[int, ...], axis: int) -> Any:
    x = _parameter(dtype, shape)
    return _compiled(operators.softmax(x, axis), [x])


@lru_cache(_KEPT)
def _attention(kinds: tuple[tuple[str, tuple[int, ...]], ...], is_causal: bool) -> Any:
    parameters = [_parameter(*kind) for kind in kinds]
    return _compiled(operators.scaled_dot_product_attention(*parameters, causal=is_causal), parameters)


def _parameter(dtype: str, shape: tuple[int, ...]) -> Any:
    names = {"float64": "f64", "float32": "f32", "float16": "f16", "bfloat16": "bf16", "bool": "boolean"}
    return operators.parameter(shape, getattr(openvino.Type, names[dtype]))


def _compiled(node: Any, parameters: list[Any]) -> Any:
    model = openvino.Model([node.output(0)], parameters)
    return openvino.Core().compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})


def _run(model: Any, arrays: list[NDArray[Any]]) -> NDArray[Any]:
    returned = np.array(model([_tensor(array) for array in arrays])[0])
    # What OpenVINO hands to NumPy as float16 are the bits of bfloat16.
    is_bfloat16 = model.output(0).get_element_type() == openvino.Type.bf16
    return returned.view(numpy_dtype("bfloat16")) if is_bfloat16 else returned


def _tensor(array: NDArray[Any]) -> Any:
    if array.dtype.name == "bfloat16":
        tensor = openvino.Tensor(openvino.Type.bf16, array.shape)
        tensor.data.view(np.uint16)[...] = array.view(np.uint16)
        return tensor
    return openvino.Tensor(np.array(array))


adapter = composed(
    "openvino",
    str(openvino.__version__).partition("-")[0],
    softmax,
    plain_attention(_attend),
    dtypes=FLOAT_DTYPES,
    conventions={
        "accumulation": "float32",
        "input_checks": "lenient",
        "softmax.fully_masked_row": "nan",
        "scaled_dot_product_attention.fully_masked_row": "nan",
        "scaled_dot_product_attention.fully_masked_row@float64": "uniform",
        "scaled_dot_product_attention.masked_nonfinite": "propagates",
    },
    without=("empty_keys", "empty_queries", "empty_heads", "empty_batch"),
)
