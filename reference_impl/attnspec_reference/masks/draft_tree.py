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
    reached = token
    for _ in range(tokens):
        climbing = reached >= 0
        ancestors[entry, token, reached] |= climbing
        reached = np.where(climbing, parents[entry, reached], reached)
    return ancestors


def without_root(parents: Integers) -> Booleans:
    """Say from which tokens the way up never ends: (B, T) parents to (B, T)."""
    batch, tokens = parents.shape
    entry, reached = np.ogrid[:batch, :tokens]
    for _ in range(tokens):
        reached = np.where(reached >= 0, parents[entry, reached], reached)
    return reached >= 0
