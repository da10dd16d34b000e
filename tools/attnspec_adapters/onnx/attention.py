"""Attention in the reference evaluator of the ONNX package, which computes with NumPy.

=============================== =====================================================================
Operation                       Mapped to
=============================== =====================================================================
`softmax`                       ``Softmax``, opset 13; of the whole array by flattening
`scaled_dot_product_attention`  ``Attention``, opset 23, 24 where lengths are given, 25 with a window
... `key_lengths`               ``nonpad_kv_seqlen``
... bottom-right alignment      ``nonpad_kv_seqlen``; every key where the case gives no lengths
... `window`                    ``left_window_size``, ``right_window_size``
... `scores`, `logits`,         ``qk_matmul_output`` in the modes 0, 2 and 3, a run each
`weights`
=============================== =====================================================================

=============================== =====================================================================
Operation                       Cannot be expressed
=============================== =====================================================================
`scaled_dot_product_attention`  a negative `scale`: it is applied as a square root to both sides;
                                a `scale` or `softcap` that float32 does not hold; top-left causal or
                                windows with lengths; bottom-right ones with a past that does not end
                                where the queries begin; `query_lengths`, `sinks`, `alibi_slopes`;
                                `logsumexp`; refusing a mask shorter than the keys, which it fills up
others                          ONNX has no operator for them
=============================== =====================================================================

Every tensor is stored in the dtype of the inputs, so that half precision is graded unfused. The conventions were found
by running ONNX 1.23, and the tests run it again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attnspec_adapters.onnx.evaluating import run_model
from attnspec_adapters.onnx_models.attention import run_attention, serialized_softmax

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

__all__ = ["conventions", "scaled_dot_product_attention", "softmax"]


conventions: Mapping[str, str] = {
    "input_checks": "lenient",
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
    window: Sequence[int | None] | None = None,
) -> dict[str, NDArray[Any]]:
    """Run ``Attention`` on (B, H, S, E) and return `output`, the steps and, with a past, what is present.

    `Unsupported` for what the operator cannot express.
    """
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
        window=window,
        steps=("weights", "logits", "scores"),
    )
