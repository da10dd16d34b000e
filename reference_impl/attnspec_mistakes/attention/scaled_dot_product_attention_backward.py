"""What goes wrong in the backward pass of scaled dot-product attention, in the order of its page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attnspec_mistakes.attention import (
    backward_blocks,
    backward_delta,
    backward_edges,
    backward_empty,
    backward_heads,
    backward_mask_gradients,
    backward_masks,
    backward_memory,
    backward_products,
    backward_ranges,
    backward_refusals,
    backward_scale,
    backward_sinks,
    backward_softcap,
    backward_tiles,
)

if TYPE_CHECKING:
    from attnspec_mistakes.mistake import Mistake

MISTAKES: tuple[Mistake, ...] = (
    *backward_masks.MISTAKES,
    *backward_products.MISTAKES,
    *backward_delta.MISTAKES,
    *backward_softcap.MISTAKES,
    *backward_scale.MISTAKES,
    *backward_heads.MISTAKES,
    *backward_tiles.MISTAKES,
    *backward_blocks.MISTAKES,
    *backward_mask_gradients.MISTAKES,
    *backward_sinks.MISTAKES,
    *backward_empty.MISTAKES,
    *backward_memory.MISTAKES,
    *backward_ranges.MISTAKES,
    *backward_edges.MISTAKES,
    *backward_refusals.MISTAKES,
)
