"""What goes wrong in attention, in the order of the operations in the specification; around all of them at last."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attnspec_mistakes.attention import (
    causal_mask,
    context_vector,
    glorot_normal,
    heads,
    memory,
    merge_states,
    multi_head_attention,
    scaled_dot_product_attention,
    scaled_dot_product_attention_backward,
    single_head_attention,
    softmax,
)

if TYPE_CHECKING:
    from attnspec_mistakes.mistake import Mistake

__all__ = ["MISTAKES"]

MISTAKES: tuple[Mistake, ...] = (
    *softmax.MISTAKES,
    *causal_mask.MISTAKES,
    *heads.MISTAKES,
    *scaled_dot_product_attention.MISTAKES,
    *scaled_dot_product_attention_backward.MISTAKES,
    *merge_states.MISTAKES,
    *single_head_attention.MISTAKES,
    *multi_head_attention.MISTAKES,
    *context_vector.MISTAKES,
    *glorot_normal.MISTAKES,
    *memory.MISTAKES,
)
