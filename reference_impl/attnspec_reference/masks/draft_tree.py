"""Draft tree: which draft tokens a draft token comes from.

Each token of a tree names its parent by index, a root names -1. Part of the attention mask, whose page is
``spec/operations/masks/attention_mask.md``.
"""

from __future__ import annotations

import numpy as np

from attnspec_reference.precision import Booleans, Integers


def ancestors_of(parents: Integers) -> Booleans:
    """Mark for each token itself and every token on the way up to its root: (B, T) parents to (B, T, T)."""
    batch, tokens = parents.shape
    ancestors = np.zeros((batch, tokens, tokens), dtype=np.bool_)
    entry, token = np.ogrid[:batch, :tokens]
    reached = np.broadcast_to(token, parents.shape)
    for _ in range(tokens):
        climbing = reached >= 0
        ancestors[entry, token, reached] |= climbing
        reached = np.where(climbing, parents[entry, reached], -1)
    return ancestors


def has_circle(parents: Integers) -> bool:
    """Say whether the way up from a token never ends."""
    entry = np.arange(len(parents))[:, np.newaxis]
    reached = parents
    for _ in range(parents.shape[-1]):
        reached = np.where(reached >= 0, parents[entry, reached], -1)
    return bool(np.any(reached >= 0))
