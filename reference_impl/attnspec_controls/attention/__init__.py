"""The controls of attention: right implementations that compute in another way than the reference."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from attnspec_controls.attention import (
    attention_freedoms,
    attention_products,
    attention_quantized,
    attention_served,
    attention_softmax,
    backward_softmax,
    backward_sums,
    latents,
    merge_states,
    multi_head_attention,
    single_head_attention,
    softmax,
)
from attnspec_mistakes.attention.forward.attention_patches import of_products

if TYPE_CHECKING:
    from attnspec_controls.control import Control

__all__ = ["CONTROLS"]

CONTROLS: tuple[Control, ...] = (
    *softmax.CONTROLS,
    # These know no quantized tensors: they are given the products of numbers and scales.
    *(
        replace(control, function=of_products(control.function))
        for control in (*attention_products.CONTROLS, *attention_softmax.CONTROLS, *attention_freedoms.CONTROLS)
    ),
    *attention_quantized.CONTROLS,
    *merge_states.CONTROLS,
    *attention_served.CONTROLS,
    *backward_sums.CONTROLS,
    *backward_softmax.CONTROLS,
    *single_head_attention.CONTROLS,
    *multi_head_attention.CONTROLS,
    *latents.CONTROLS,
)
