"""What goes wrong in scaled dot-product attention, in the order of its steps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attnspec_mistakes.attention import (
    attention_biases,
    attention_layout,
    attention_lengths,
    attention_masks,
    attention_memory,
    attention_numbers,
    attention_positions,
    attention_refusals,
    attention_scores,
    attention_sinks,
    attention_softmax,
    attention_tiles,
    attention_windows,
)

if TYPE_CHECKING:
    from attnspec_mistakes.mistake import Mistake

MISTAKES: tuple[Mistake, ...] = (
    *attention_scores.MISTAKES,
    *attention_layout.MISTAKES,
    *attention_biases.MISTAKES,
    *attention_masks.MISTAKES,
    *attention_positions.MISTAKES,
    *attention_windows.MISTAKES,
    *attention_lengths.MISTAKES,
    *attention_softmax.MISTAKES,
    *attention_tiles.MISTAKES,
    *attention_sinks.MISTAKES,
    *attention_numbers.MISTAKES,
    *attention_memory.MISTAKES,
    *attention_refusals.MISTAKES,
)
