"""Attention in Keras on its PyTorch backend.

=============================== =====================================================================
Operation                       Mapped to
=============================== =====================================================================
`softmax`                       ``keras.ops.softmax``
`scaled_dot_product_attention`  ``keras.ops.dot_product_attention``, its arguments transposed to
                                (B, S, H, E) and its result back; all that one mask can say is folded
                                into one
... exclusions alone            ``mask``; causality alone is ``is_causal``
... a mask of numbers           ``bias``, with -inf where a key is excluded
`single_head_attention`         ``keras.layers.MultiHeadAttention`` with one head; without `w_output`,
                                its output projection is the identity
`multi_head_attention`          ``keras.layers.MultiHeadAttention``, which is asked for its scores, so
                                that it writes its attention out
=============================== =====================================================================

=============================== =====================================================================
Operation                       Cannot be expressed
=============================== =====================================================================
`scaled_dot_product_attention`  `softcap`, which is for JAX on a TPU; `sinks`; float64, which it
                                computes and returns in float32; every output but `output`
`single_head_attention`         a `scale` other than 1/sqrt(E)
`multi_head_attention`          a `scale` other than 1/sqrt(E); a mask of numbers, which it reads as
                                truth values
`glorot_normal`                 ``keras.initializers.GlorotNormal`` cuts the distribution off
others                          Keras has no operator for them
=============================== =====================================================================

Keras excludes in three ways: a number of -2.4e38 (-45850 in float16) that is added, by ``mask``; -inf, by
``bias``; and a zero in the weights, by the layer. Rows without keys differ accordingly. The conventions were found by
running Keras 3.15 with PyTorch 2.13 on a CPU, and the tests run it again.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec.base.errors import Unsupported
from attnspec.families.attention.folding import plain_attention
from attnspec_adapters.keras.backend import keras, tensors, torch

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

__all__ = ["conventions", "multi_head_attention", "scaled_dot_product_attention", "single_head_attention", "softmax"]

_ATTENTION = "scaled_dot_product_attention"

conventions: Mapping[str, str] = {
    "input_checks": "lenient",
    "masked_nonfinite": "propagates",
    "softmax.fully_masked_row": "nan",
    f"{_ATTENTION}.half_precision_grade": "fused",
    f"{_ATTENTION}.fully_masked_row": "uniform",
    f"{_ATTENTION}.fully_masked_row@float_mask": "zero",
    f"{_ATTENTION}.fully_masked_row@alibi_slopes": "zero",
    # Folded into a bias, the distances are rounded to its dtype.
    f"{_ATTENTION}.half_precision_grade@alibi_slopes": "unfused",
}


# It computes float64 in float32, and says so by the dtype that it returns.
dtypes = {_ATTENTION: ("float32", "float16", "bfloat16")}
without = ("empty_heads",)


def softmax(x: NDArray[Any], axis: int | None = -1) -> NDArray[Any]:
    """Run ``keras.ops.softmax`` along `axis`, or over the whole array where `axis` is None."""
    with torch.inference_mode():
        return tensors.to_array(keras.ops.softmax(tensors.to_tensor(x), axis=axis))


def _attend(
    query: NDArray[Any],
    key: NDArray[Any],
    value: NDArray[Any],
    *,
    mask: NDArray[Any] | None = None,
    is_causal: bool = False,
    scale: float | None = None,
) -> NDArray[Any]:
    arguments: dict[str, Any] = {}
    if mask is not None:
        arguments["mask" if mask.dtype == np.bool_ else "bias"] = tensors.to_tensor(mask)
    with torch.inference_mode():
        tokens = (tensors.to_tensor(array.swapaxes(-3, -2)) for array in (query, key, value))
        output = keras.ops.dot_product_attention(*tokens, scale=scale, is_causal=is_causal, **arguments)
        return tensors.to_array(output).swapaxes(-3, -2)


scaled_dot_product_attention = plain_attention(_attend, grouped_heads=True)


def single_head_attention(
    x: NDArray[Any],
    w_query: NDArray[Any],
    w_key: NDArray[Any],
    w_value: NDArray[Any],
    *,
    w_output: NDArray[Any] | None = None,
    scale: float | None = None,
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Run ``keras.layers.MultiHeadAttention`` with one head on (S, D) and return `output` and `weights`.

    `Unsupported` for another `scale` than the default.
    """
    if w_output is None:
        w_output = np.eye(w_value.shape[-1], dtype=x.dtype)
    layer = _Layer((w_query, w_key, w_value, w_output), (None,) * 4, 1, scale)
    tokens = x[np.newaxis]
    output, weights = layer(tokens, tokens, tokens)
    return output[0], weights[0, 0]


def multi_head_attention(
    query: NDArray[Any],
    key: NDArray[Any],
    value: NDArray[Any],
    *,
    w_query: NDArray[Any],
    w_key: NDArray[Any],
    w_value: NDArray[Any],
    w_output: NDArray[Any],
    num_heads: int,
    b_query: NDArray[Any] | None = None,
    b_key: NDArray[Any] | None = None,
    b_value: NDArray[Any] | None = None,
    b_output: NDArray[Any] | None = None,
    mask: NDArray[Any] | None = None,
    is_causal: bool = False,
    scale: float | None = None,
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Run ``keras.layers.MultiHeadAttention`` on (B, S, D) and return `output` and the `weights` of each head.

    `Unsupported` for a mask of numbers, and for another `scale` than the default.
    """
    if mask is not None and mask.dtype != np.bool_:
        raise Unsupported("Keras' MultiHeadAttention reads every mask as truth values")
    biases = (b_query, b_key, b_value, b_output)
    layer = _Layer((w_query, w_key, w_value, w_output), biases, num_heads, scale)
    return layer(query, key, value, mask=mask, is_causal=is_causal)


class _Layer:
    """``keras.layers.MultiHeadAttention`` with given parameters.

    `matrices` project query, key, value and output as x @ W; a bias of None is zero; `Unsupported` for any `scale` but
    None or the only one that the layer has.
    """

    def __init__(
        self,
        matrices: Sequence[NDArray[Any]],
        biases: Sequence[NDArray[Any] | None],
        num_heads: int,
        scale: float | None,
    ) -> None:
        key_width, value_width = matrices[0].shape[1] // num_heads, matrices[2].shape[1] // num_heads
        if scale is not None and not math.isclose(scale, 1 / math.sqrt(key_width), rel_tol=1e-15):
            raise Unsupported("Keras' MultiHeadAttention has no scale but 1/sqrt(E)")
        self._layer = keras.layers.MultiHeadAttention(
            num_heads,
            key_dim=key_width,
            value_dim=value_width,
            output_shape=matrices[3].shape[1],
            # Drawn numbers would be replaced at once, and would advance the user's generator.
            kernel_initializer="zeros",
            dtype=matrices[0].dtype.name,
        )
        self._layer.build(*((None, None, matrix.shape[0]) for matrix in (matrices[0], matrices[2], matrices[1])))
        parameters = [
            parameter
            for matrix, bias in zip(matrices, biases, strict=True)
            for parameter in (matrix, np.zeros(matrix.shape[1], matrix.dtype) if bias is None else bias)
        ]
        for variable, parameter in zip(self._layer.weights, parameters, strict=True):
            variable.assign(tensors.to_tensor(parameter).reshape(tuple(variable.shape)))

    def __call__(
        self,
        query: NDArray[Any],
        key: NDArray[Any],
        value: NDArray[Any],
        *,
        mask: NDArray[Any] | None = None,
        is_causal: bool = False,
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the output (B, Sq, D) and the weights (B, H, Sq, Sk), which the layer calls scores."""
        with torch.inference_mode():
            tokens = {
                name: tensors.to_tensor(array) for name, array in (("query", query), ("key", key), ("value", value))
            }
            if mask is not None:
                # A mask of rank 3 has an axis of batch entries there, and one of heads here.
                tokens["attention_mask"] = tensors.to_tensor(mask.reshape((1,) * (4 - mask.ndim) + mask.shape))
            output, weights = self._layer(**tokens, use_causal_mask=is_causal, return_attention_scores=True)
            return tensors.to_array(output), tensors.to_array(weights)
