"""What goes wrong in scaled dot-product attention, in the order of its steps."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from attnspec_mistakes.attention.forward import (
    forward_masks,
    forward_numbers,
    forward_positions,
    forward_refusals,
    forward_scores,
    forward_softmax,
    packed_sequences,
    paged_positions,
    paged_tables,
    quantized_owners,
    quantized_scales,
)
from attnspec_mistakes.attention.forward.attention_departures import of_products
from attnspec_mistakes.mistake import mistakes_in

if TYPE_CHECKING:
    from attnspec_mistakes.mistake import Mistake

_OF_WIDE_TENSORS = mistakes_in(
    forward_scores,
    forward_masks,
    forward_positions,
    forward_softmax,
    forward_numbers,
    packed_sequences,
    paged_tables,
    paged_positions,
    forward_refusals,
)

MISTAKES: tuple[Mistake, ...] = (
    *(replace(mistake, function=of_products(mistake.function)) for mistake in _OF_WIDE_TENSORS),
    *mistakes_in(quantized_scales, quantized_owners),
)
"""Mistakes that know of no quantized tensors are made with the products of numbers and scales."""
