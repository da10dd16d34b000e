"""The controls of attention: right implementations that compute in another way than the reference."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attnspec_controls.attention import (
    attention_freedoms,
    attention_products,
    attention_softmax,
    context_vector,
    masks_and_heads,
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
    *attention_products.CONTROLS,
    *attention_softmax.CONTROLS,
    *attention_freedoms.CONTROLS,
    *single_head_attention.CONTROLS,
    *multi_head_attention.CONTROLS,
    *context_vector.CONTROLS,
)
