"""What goes wrong in attention, in the order of the operations in the specification; around all of them at last."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attnspec_mistakes.attention import (
    attention_layers,
    backward,
    context_and_weights,
    forward,
    layers_in_memory,
    merged_edges,
    merged_weights,
)
from attnspec_mistakes.attention.forward import building_blocks
from attnspec_mistakes.mistake import mistakes_in

if TYPE_CHECKING:
    from attnspec_mistakes.mistake import Mistake

__all__ = ["MISTAKES"]

MISTAKES: tuple[Mistake, ...] = (
    *mistakes_in(building_blocks),
    *forward.MISTAKES,
    *backward.MISTAKES,
    *mistakes_in(merged_weights, merged_edges, attention_layers, context_and_weights, layers_in_memory),
)
