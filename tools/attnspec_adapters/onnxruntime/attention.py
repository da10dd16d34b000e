"""Attention in ONNX Runtime on a CPU.

=============================== =====================================================================
Operation                       Mapped to
=============================== =====================================================================
`softmax`                       ``Softmax``, opset 13; of the whole array by flattening
`scaled_dot_product_attention`  ``Attention``, opset 23, or 24 where lengths are given
... `key_lengths`               ``nonpad_kv_seqlen``
... bottom-right alignment      ``nonpad_kv_seqlen``; every key where the case gives no lengths
... `scores`, `weights`         ``qk_matmul_output`` in the modes 0 and 3, a run each
=============================== =====================================================================

=============================== =====================================================================
Operation                       Cannot be expressed
=============================== =====================================================================
`scaled_dot_product_attention`  all that the operator cannot, for which see the adapter `onnx`; and, of
                                what it can: `window`, a `scale` of 0, a mask whose query axis is 1
                                for several queries, empty tensors, float64, bfloat16
... `logits`                    excluded keys have the lowest finite number there, not -inf
others                          ONNX has no operator for them
=============================== =====================================================================

float64 is not offered: there is no kernel for it, and the function that ONNX Runtime puts in its place is that of an
older text of the operator (NaN for a row without keys, another alignment with lengths, a default scale that is
rounded to float32). Half precision stores every tensor and is graded unfused. The conventions were found by running
ONNX Runtime 1.31, and the tests run it again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attnspec.base.errors import Unsupported
from attnspec.tensors.libraries import import_library
from attnspec_adapters.onnx_models.attention import run_attention, serialized_softmax
from attnspec_adapters.onnxruntime.evaluating import run_model

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

__all__ = ["conventions", "scaled_dot_product_attention", "softmax"]

# The models are made with it, and a message about it must come now rather than with the first case.
import_library("onnx", adapter="onnxruntime")

conventions: Mapping[str, str] = {
    "softmax.fully_masked_row": "nan",
    "scaled_dot_product_attention.masked_nonfinite": "propagates",
    "scaled_dot_product_attention.no_keys": "refuse",
}


def softmax(x: NDArray[Any], axis: int | None = -1) -> NDArray[Any]:
    """Run ``Softmax`` along `axis`, or over the whole array where `axis` is None."""
    fed = x.reshape(-1) if axis is None else x
    model = serialized_softmax(x.dtype.name, 0 if axis is None else axis)
    return run_model(model, {"x": fed})[0].reshape(x.shape)


def scaled_dot_product_attention(
    query: NDArray[Any],
    key: NDArray[Any],
    value: NDArray[Any],
    *,
    mask: NDArray[Any] | None = None,
    past_key: NDArray[Any] | None = None,
    past_value: NDArray[Any] | None = None,
    key_lengths: NDArray[Any] | None = None,
    is_causal: bool = False,
    causal_alignment: str = "top_left",
    scale: float | None = None,
    softcap: float | None = None,
) -> dict[str, NDArray[Any]]:
    """Run ``Attention`` on (B, H, S, E) and return `output`, two steps and, with a past, what is present.

    `Unsupported` for what the operator cannot express, and for what ONNX Runtime does not take.
    """
    _refuse_what_it_does_not_take(query, key, past_key, mask, scale)
    given = {
        "query": query,
        "key": key,
        "value": value,
        "mask": mask,
        "past_key": past_key,
        "past_value": past_value,
        "key_lengths": key_lengths,
    }
    return run_attention(
        run_model,
        given,
        is_causal=is_causal,
        causal_alignment=causal_alignment,
        scale=scale,
        softcap=softcap,
        steps=("weights", "scores"),
    )


def _refuse_what_it_does_not_take(
    query: NDArray[Any], key: NDArray[Any], past: NDArray[Any] | None, mask: NDArray[Any] | None, scale: float | None
) -> None:
    # Some empty tensors it refuses by itself. Without heads, which rank 3 has none of either, it divides by zero and
    # ends the process.
    if query.size == 0 or query.ndim == 3:
        raise Unsupported("onnxruntime's Attention takes no tensors that are empty, or that have no axis of heads")
    if past is not None and key.size == 0:
        raise Unsupported("onnxruntime's Attention takes no past without new keys")
    if scale == 0:
        raise Unsupported("onnxruntime's Attention takes no scale of 0")
    if mask is not None and mask.ndim >= 2 and mask.shape[-2] == 1 != query.shape[-2]:
        raise Unsupported("onnxruntime's Attention does not broadcast a mask along its query axis")
