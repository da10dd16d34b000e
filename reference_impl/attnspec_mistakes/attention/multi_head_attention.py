"""What goes wrong in multi-head attention: around the heads, and inside them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attnspec_mistakes.attention import multi_head_attending, multi_head_projections

if TYPE_CHECKING:
    from attnspec_mistakes.mistake import Mistake

MISTAKES: tuple[Mistake, ...] = (*multi_head_projections.MISTAKES, *multi_head_attending.MISTAKES)
