"""Seeds of a judgement's draws: each a digest of SHA-256, so that none reveals another one.

The numbers of a draw are made by functions that can be computed backwards: some of them give away the text that they
were drawn by, and with it all its other numbers, but no other text.
"""

from __future__ import annotations

import hashlib

_DIGITS = 16
"""Hexadecimal digits of a seed: 64 bits, as many as the generator has."""


def seed_of(word: str, *about: object) -> str:
    """Return the seed of something drawn, by the seed of the whole judgement and texts without a line end."""
    return hashlib.sha256("\n".join((word, *map(str, about))).encode()).hexdigest()[:_DIGITS]
