"""What goes wrong in the backward pass of scaled dot-product attention, in the order of its steps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attnspec_mistakes.attention.backward import (
    backward_blocks,
    backward_delta,
    backward_edges,
    backward_heads,
    backward_memory,
    backward_products,
    backward_sinks,
)
from attnspec_mistakes.mistake import mistakes_in

if TYPE_CHECKING:
    from attnspec_mistakes.mistake import Mistake

MISTAKES: tuple[Mistake, ...] = mistakes_in(
    backward_products,
    backward_delta,
    backward_heads,
    backward_blocks,
    backward_sinks,
    backward_memory,
    backward_edges,
)
