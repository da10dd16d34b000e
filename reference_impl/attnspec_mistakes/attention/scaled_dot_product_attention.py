"""What goes wrong in scaled dot-product attention, in the order of its steps."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from attnspec_mistakes.attention import (
    attention_biases,
    attention_layout,
    attention_lengths,
    attention_masks,
    attention_memory,
    attention_numbers,
    attention_packed,
    attention_page_lists,
    attention_page_owners,
    attention_page_positions,
    attention_page_reading,
    attention_paged,
    attention_positions,
    attention_quantized_alone,
    attention_quantized_numbers,
    attention_quantized_owners,
    attention_quantized_scales,
    attention_quantized_sums,
    attention_refusals,
    attention_scores,
    attention_sinks,
    attention_softmax,
    attention_tiles,
    attention_windows,
)
from attnspec_mistakes.attention.quantized_products import of_products

if TYPE_CHECKING:
    from attnspec_mistakes.mistake import Mistake

_OF_WIDE_TENSORS: tuple[Mistake, ...] = (
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
    *attention_packed.MISTAKES,
    *attention_paged.MISTAKES,
    *attention_page_lists.MISTAKES,
    *attention_page_owners.MISTAKES,
    *attention_page_positions.MISTAKES,
    *attention_page_reading.MISTAKES,
    *attention_refusals.MISTAKES,
)

MISTAKES: tuple[Mistake, ...] = (
    *(replace(mistake, function=of_products(mistake.function)) for mistake in _OF_WIDE_TENSORS),
    *attention_quantized_numbers.MISTAKES,
    *attention_quantized_scales.MISTAKES,
    *attention_quantized_owners.MISTAKES,
    *attention_quantized_alone.MISTAKES,
    *attention_quantized_sums.MISTAKES,
)
