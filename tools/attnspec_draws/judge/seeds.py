"""The seeds of a judgement's draws: each a digest, so that none tells another one.

The numbers of a draw are made by functions that can be computed backwards: who sees some of them can find the text that
they were drawn by, and with it all other numbers of that text. A digest of SHA-256 lets nobody go from one text to the
next.
"""

from __future__ import annotations

import hashlib

_DIGITS = 16
"""Hexadecimal digits of a seed: 64 bits, as many as the generator has."""


def seed_of(word: str, *about: object) -> str:
    """Return the seed of something that is drawn.

    Parameters
    ----------
    word
        The seed of the whole judgement.
    about
        What is drawn: each as a text without a line end.
    """
    return hashlib.sha256("\n".join((word, *map(str, about))).encode()).hexdigest()[:_DIGITS]
