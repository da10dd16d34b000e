"""What goes wrong in norms: in one norm alone, and in those of queries and keys."""

from attnspec_mistakes.mistake import Mistake, mistakes_in
from attnspec_mistakes.norms import qk_norms, rms_norms

__all__ = ["MISTAKES"]

MISTAKES: tuple[Mistake, ...] = mistakes_in(rms_norms, qk_norms)
