"""The built-in adapter `keras`: attention in Keras on its PyTorch backend.

=============================== =====================================================================
Operation                       Mapped to
=============================== =====================================================================
`softmax`                       ``keras.ops.softmax``
`rms_norm`                      ``keras.ops.rms_normalization``
`scaled_dot_product_attention`  ``keras.ops.dot_product_attention``, its arguments transposed to
                                (B, S, H, E) and its result back; all that one mask can say is folded
                                into one
... exclusions alone            ``mask``; causality alone is ``is_causal``
... a mask of numbers           ``bias``, with -inf where a key is excluded
`single_head_attention`         ``keras.layers.MultiHeadAttention`` with one head; without `w_output`,
                                its output projection is the identity
`multi_head_attention`          ``keras.layers.MultiHeadAttention``, which returns its scores, so
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
`rms_norm`                      `weight_offset`
`glorot_normal`                 ``keras.initializers.GlorotNormal`` cuts the distribution off
others                          Keras has no operator for them
=============================== =====================================================================

Keras excludes in three ways: a number of -2.4e38 (-45850 in float16) that is added, by ``mask``; -inf, by
``bias``; and a zero in the weights, by the layer. Rows without keys differ accordingly. The conventions were found by
running Keras 3.15 with PyTorch 2.13 on a CPU, and the tests run it again.
"""

import os
import sys
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnspec.base.errors import TargetError, Unsupported
from attnspec.contract.dtypes import FLOAT_DTYPES
from attnspec.families.attention.folding import plain_attention
from attnspec.tensors.libraries import import_library
from attnspec_adapters.attention import biases_of, matrices_of, refuse_scale
from attnspec_adapters.composing import composed, taking

__all__ = ["adapter"]

if "keras" not in sys.modules:
    # Chosen before Keras is imported: afterwards it cannot be changed.
    os.environ["KERAS_BACKEND"] = "torch"
keras = import_library("keras", adapter="keras")
torch = import_library("torch", adapter="keras")
tensors = import_library("attnspec.tensors.of_torch", adapter="keras")
if keras.backend.backend() != "torch":
    raise TargetError(
        f"The adapter 'keras' runs the torch backend, and Keras has been imported with {keras.backend.backend()!r}. "
        "Set KERAS_BACKEND=torch."
    )


def softmax(x: NDArray[Any], axis: int | None = -1) -> NDArray[Any]:
    """Run ``keras.ops.softmax`` along `axis`, or over the whole array where `axis` is None."""
    with torch.inference_mode():
        return tensors.to_array(keras.ops.softmax(tensors.to_tensor(x), axis=axis))


def rms_norm(x: NDArray[Any], weight: NDArray[Any], epsilon: float) -> NDArray[Any]:
    """Run ``keras.ops.rms_normalization`` along the last axis."""
    with torch.inference_mode():
        scale = tensors.to_tensor(weight)
        return tensors.to_array(keras.ops.rms_normalization(tensors.to_tensor(x), scale, axis=-1, epsilon=epsilon))


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


@taking("w_output scale")
def single_head_attention(given: SimpleNamespace) -> tuple[NDArray[Any], NDArray[Any]]:
    """Run ``keras.layers.MultiHeadAttention`` with one head on (S, D) and return `output` and `weights`.

    `Unsupported` for another `scale` than the default.
    """
    tokens: NDArray[Any] = given.x[np.newaxis]
    output, weights = _run_layer(given, {"query": tokens, "key": tokens, "value": tokens}, 1)
    return output[0], weights[0, 0]


@taking("b_query b_key b_value b_output mask is_causal scale")
def multi_head_attention(given: SimpleNamespace) -> tuple[NDArray[Any], NDArray[Any]]:
    """Run ``keras.layers.MultiHeadAttention`` on (B, S, D) and return `output` and the `weights` of each head.

    `Unsupported` for a mask of numbers, and for another `scale` than the default.
    """
    mask, tokens = given.mask, {name: getattr(given, name) for name in ("query", "key", "value")}
    if mask is not None:
        if mask.dtype != np.bool_:
            raise Unsupported("Keras' MultiHeadAttention reads every mask as truth values")
        # A mask of rank 3 has an axis of batch entries there, and one of heads here.
        tokens["attention_mask"] = mask.reshape((1,) * (4 - mask.ndim) + mask.shape)
    return _run_layer(given, tokens, given.num_heads, is_causal=given.is_causal)


def _run_layer(
    given: SimpleNamespace, tokens: Mapping[str, NDArray[Any]], num_heads: int, *, is_causal: bool = False
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the output (B, Sq, D) and the weights (B, H, Sq, Sk), which the layer calls scores."""
    matrices = matrices_of(given)
    key_width, value_width = matrices[0].shape[1] // num_heads, matrices[2].shape[1] // num_heads
    refuse_scale(given.scale, key_width, "Keras' MultiHeadAttention")
    layer = keras.layers.MultiHeadAttention(
        num_heads,
        key_dim=key_width,
        value_dim=value_width,
        output_shape=matrices[3].shape[1],
        # Drawn numbers would be replaced at once, and would advance the user's generator.
        kernel_initializer="zeros",
        dtype=matrices[0].dtype.name,
    )
    layer.build(*((None, None, matrix.shape[0]) for matrix in (matrices[0], matrices[2], matrices[1])))
    parameters = [
        parameter
        for matrix, bias in zip(matrices, biases_of(given), strict=True)
        for parameter in (matrix, np.zeros(matrix.shape[1], matrix.dtype) if bias is None else bias)
    ]
    for variable, parameter in zip(layer.weights, parameters, strict=True):
        variable.assign(tensors.to_tensor(parameter).reshape(tuple(variable.shape)))
    with torch.inference_mode():
        fed = {name: tensors.to_tensor(array) for name, array in tokens.items()}
        output, weights = layer(**fed, use_causal_mask=is_causal, return_attention_scores=True)
        return tensors.to_array(output), tensors.to_array(weights)


adapter = composed(
    "keras",
    str(keras.__version__),
    softmax,
    plain_attention(_attend, grouped_heads=True),
    single_head_attention,
    multi_head_attention,
    rms_norm,
    dtypes=FLOAT_DTYPES,
    # It computes float64 in float32, and says so by the dtype that it returns.
    differing={"scaled_dot_product_attention": ("float32", "float16", "bfloat16")},
    conventions={
        "input_checks": "lenient",
        "masked_nonfinite": "propagates",
        "softmax.fully_masked_row": "nan",
        "rms_norm.accumulation": "float32",
        "scaled_dot_product_attention.half_precision_grade": "fused",
        "scaled_dot_product_attention.fully_masked_row": "uniform",
        "scaled_dot_product_attention.fully_masked_row@float_mask": "zero",
        "scaled_dot_product_attention.fully_masked_row@alibi_slopes": "zero",
        # Folded into a bias, the distances are rounded to its dtype.
        "scaled_dot_product_attention.half_precision_grade@alibi_slopes": "unfused",
    },
    without=("empty_heads",),
)
