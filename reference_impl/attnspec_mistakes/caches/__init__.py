"""What goes wrong in caches."""

from attnspec_mistakes.caches import contiguous_caches, paged_caches, quantized_caches, windows
from attnspec_mistakes.mistake import Mistake, mistakes_in

__all__ = ["MISTAKES"]

MISTAKES: tuple[Mistake, ...] = mistakes_in(contiguous_caches, paged_caches, quantized_caches, windows)
"""Every mistake of caches: what is appended and scattered, what goes into pages, in few bits, and into windows."""
