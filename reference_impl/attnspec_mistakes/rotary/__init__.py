"""What goes wrong in rotary positions: their frequencies, the tables, the rotation; around all of them at last."""

from attnspec_mistakes.mistake import Mistake, mistakes_in
from attnspec_mistakes.rotary import rotary_rotations, rotary_scalings

__all__ = ["MISTAKES"]

MISTAKES: tuple[Mistake, ...] = mistakes_in(rotary_scalings, rotary_rotations)
