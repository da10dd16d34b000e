"""``ALL_ATTENTION_FUNCTIONS["sdpa"]``: PyTorch's attention, as Transformers calls it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from attnspec.base.errors import Unsupported
from attnspec.tensors.libraries import import_library
from attnspec_adapters.transformers.attention.inputs import Inputs

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

torch = import_library("torch", adapter="transformers")
modeling = import_library("transformers.modeling_utils", adapter="transformers")
tensors = import_library("attnspec_adapters.torch_tensors", adapter="transformers")

conventions: Mapping[str, str] = {
    "scaled_dot_product_attention.half_precision_grade": "fused",
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
    is_causal: bool = False,
    causal_alignment: str = "top_left",
    scale: float | None = None,
    window: Sequence[int | None] | None = None,
) -> dict[str, NDArray[Any]]:
    """Run it on (B, H, S, E); return `output` and, with a past, what is present.

    `Unsupported` for outputs without elements, of which it cannot tell how many heads they have.
    """
    if query.ndim == 4 and 0 in (*query.shape[:3], value.shape[-1]):
        raise Unsupported("Transformers' sdpa gives no output without elements")
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
        attended, added = inputs.attended(may_skip=True), inputs.float_mask()
        if attended is not None and added is not None:
            attended = torch.where(attended, added, -math.inf)
        attention_mask = added if attended is None else attended
        attend = modeling.ALL_ATTENTION_FUNCTIONS["sdpa"]
        output, _ = attend(inputs.module(), queries, keys, values, attention_mask, scaling=scale)
        present = {} if past_key is None else {"present_key": keys, "present_value": values}
        returned = {"output": output.transpose(1, 2), **present}
        return {name: tensors.to_array(tensor) for name, tensor in returned.items()}
