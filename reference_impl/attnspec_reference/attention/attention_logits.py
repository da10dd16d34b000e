"""From the scores of attention to its logits: shared heads, the cap, the biases, excluded keys.

Part of scaled dot-product attention, whose page is ``spec/operations/attention/scaled_dot_product_attention.md``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from attnspec_reference.attention.attention_keys import distances_ahead, is_boolean

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from attnspec_reference.precision import Array, Booleans, Integers


def repeat_heads(shared: Array, heads: int) -> Array:
    """Give each query head its key or value head: (B, Hkv, Sk, E) becomes (B, Hq, Sk, E).

    Neighbouring query heads share: query head h reads head h // (Hq / Hkv).
    """
    group = heads // max(shared.shape[1], 1)
    return shared if group == 1 else np.repeat(shared, group, axis=1)


def cap_scores(scores: Array, softcap: float | None) -> Array:
    """Bend the scores so that none exceeds the cap; None and 0 leave them as they are."""
    if not softcap:
        return scores
    return softcap * np.tanh(scores / softcap)


def add_distance_bias(scores: Array, alibi_slopes: Array | None, offset: Integers | int) -> Array:
    """Lower each score by the distance between query and key, times the slope of the head."""
    if alibi_slopes is None:
        return scores
    query_length, key_length = scores.shape[2:]
    distances = np.abs(distances_ahead(query_length, key_length, offset)).astype(scores.dtype)
    return scores - alibi_slopes[:, np.newaxis, np.newaxis] * distances


def add_mask(scores: Array, mask: ArrayLike | None) -> Array:
    """Add a float mask to the scores; a Boolean mask adds nothing."""
    if mask is None or is_boolean(mask):
        return scores
    return scores + np.asarray(mask).astype(scores.dtype)


def exclude_keys(logits: Array, attendable: Booleans) -> Array:
    """Set the logits of excluded keys to minus infinity, whatever they were."""
    return np.where(attendable, logits, -np.inf)
