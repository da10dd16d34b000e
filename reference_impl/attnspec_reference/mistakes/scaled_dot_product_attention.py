"""What goes wrong in scaled dot-product attention, in the order of its steps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attnspec_reference.mistakes import attention_masks, attention_scores, attention_softmax

if TYPE_CHECKING:
    from attnspec_reference.mistakes.mistake import Mistake

MISTAKES: tuple[Mistake, ...] = (
    *attention_scores.MISTAKES,
    *attention_masks.MISTAKES,
    *attention_softmax.MISTAKES,
)
