"""The controls of attention: right implementations that compute in another way than the reference."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attnspec_controls.attention import (
    attention_on_products,
    attention_quantized,
    attention_served,
    backward_softmax,
    backward_sums,
    context_vector,
    masks_and_heads,
    merge_states,
    multi_head_attention,
    single_head_attention,
    softmax,
)

if TYPE_CHECKING:
    from attnspec_controls.control import Control

__all__ = ["CONTROLS"]

CONTROLS: tuple[Control, ...] = (
    *softmax.CONTROLS,
    *masks_and_heads.CONTROLS,
    *attention_on_products.CONTROLS,
    *attention_quantized.CONTROLS,
    *merge_states.CONTROLS,
    *attention_served.CONTROLS,
    *backward_sums.CONTROLS,
    *backward_softmax.CONTROLS,
    *single_head_attention.CONTROLS,
    *multi_head_attention.CONTROLS,
    *context_vector.CONTROLS,
)
