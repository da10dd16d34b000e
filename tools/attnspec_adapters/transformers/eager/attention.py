"""Attention as it is written out in the models of Transformers: ``attn_implementation="eager"``.

================================ ====================================================================
Operation                        Mapped to
================================ ====================================================================
`scaled_dot_product_attention`   ``eager_attention_forward`` of Llama
... `softcap`                    that of Gemma 2
... `sinks`                      that of GPT-OSS
... past and exclusions          as by the adapter `transformers`; then the lowest number of the dtype
                                 is added where a key is excluded, as ``masking_utils.eager_mask``
                                 does it, and a mask of numbers as it is
================================ ====================================================================

================================ ====================================================================
Operation                        Cannot be expressed
================================ ====================================================================
`scaled_dot_product_attention`   `softcap` beside `sinks`; `alibi_slopes`; `scores`, `logits`,
                                 `logsumexp`
others                           Transformers has no operator for them
================================ ====================================================================

The softmax is taken in float32 whatever comes in, and every step is stored in the dtype. The conventions were found by
running Transformers 5.23 with PyTorch 2.13 on a CPU, and the tests run it again.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from attnspec.base.errors import Unsupported
from attnspec.tensors.libraries import import_library
from attnspec_adapters.transformers.attention.inputs import Inputs

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

torch = import_library("torch", adapter="transformers-eager")
tensors = import_library("attnspec_adapters.torch_tensors", adapter="transformers-eager")

conventions: Mapping[str, str] = {
    "scaled_dot_product_attention.accumulation": "float32",
    "scaled_dot_product_attention.fully_masked_row": "filled",
    # The lowest number of float64 is minus infinity in float32, in which the softmax is taken.
    "scaled_dot_product_attention.fully_masked_row@float64": "nan",
    "scaled_dot_product_attention.half_precision_overflow": "open",
    "scaled_dot_product_attention.input_checks": "lenient",
    "scaled_dot_product_attention.masked_nonfinite": "propagates",
}


def scaled_dot_product_attention(
    query: NDArray[Any],
    key: NDArray[Any],
    value: NDArray[Any],
    *,
    mask: NDArray[Any] | None = None,
    past_key: NDArray[Any] | None = None,
    past_value: NDArray[Any] | None = None,
    key_lengths: NDArray[Any] | None = None,
    query_lengths: NDArray[Any] | None = None,
    sinks: NDArray[Any] | None = None,
    is_causal: bool = False,
    causal_alignment: str = "top_left",
    scale: float | None = None,
    softcap: float | None = None,
    window: Sequence[int | None] | None = None,
) -> dict[str, NDArray[Any]]:
    """Run it on (B, H, S, E); return `output`, `weights` and, with a past, what is present.

    `Unsupported` for `softcap` beside `sinks`, which no model has.
    """
    if softcap and sinks is not None:
        raise Unsupported("none of these models has sinks and a softcap")
    inputs = Inputs(
        query,
        key,
        value,
        past_key,
        past_value,
        mask,
        key_lengths,
        query_lengths,
        is_causal,
        causal_alignment,
        window,
    )
    with torch.inference_mode():
        queries, keys, values = inputs.tensors()
        model, module, options = "llama", inputs.module(), {}
        if softcap:
            model, options = "gemma2", {"softcap": softcap}
        elif sinks is not None:
            model, module = "gpt_oss", inputs.module(sinks=tensors.to_tensor(sinks))
        scaling = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
        output, weights = _modeling(model).eager_attention_forward(
            module, queries, keys, values, _added(inputs, queries.dtype), scaling=scaling, **options
        )
        present = {} if past_key is None else {"present_key": keys, "present_value": values}
        returned = {"output": output.transpose(1, 2), "weights": weights, **present}
        return {name: tensors.to_array(tensor) for name, tensor in returned.items()}


def _added(inputs: Inputs, dtype: Any) -> Any:
    """Return what is added to the scores: as ``eager_mask`` makes it, and the case's numbers as they are."""
    attended, added = inputs.attended(), inputs.float_mask()
    if attended is None:
        return added
    lowest = torch.finfo(dtype).min
    if added is None:
        return torch.where(attended, torch.zeros((), dtype=dtype), lowest)
    return torch.where(attended | added.isneginf(), added, lowest)


def _modeling(model: str) -> Any:
    return import_library(f"transformers.models.{model}.modeling_{model}", adapter="transformers-eager")
