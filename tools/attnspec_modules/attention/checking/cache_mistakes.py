"""Attention of tokens that come in parts, with a cache as it should be, or with a usual mistake."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from attnspec_modules.attention.checking.composed_attention import (
    Array,
    Sample,
    mixed,
    projected,
    rotated,
    shared_by_neighbours,
)
from attnspec_modules.attention.layer_reading import Rotation
from attnspec_reference import scaled_dot_product_attention

Kept = Literal["behind", "before", "over", "last", "first", "none", "too late"]
"""Where new keys or values go: behind those that are kept, before them, over the first of them, or instead of them.

``first``: those of the first call alone are kept; ``none``: nothing is; ``too late``: they are kept when the call has
looked at the others.
"""


@dataclass(frozen=True)
class CacheMistake:
    """Cache that departs from a right one, in where new keys and values go, or in what is done with them.

    `mask`: whether it counts the tokens that are kept. `positions` count from the beginning of the text, of the call,
    or of what is kept, or are one off; keys are `rotated` once, at each call again, or not in later ones.
    """

    keys: Kept = "behind"
    values: Kept = "behind"
    mask: Literal["right", "none", "none at all", "top left", "one more", "one less"] = "right"
    positions: Literal["right", "of the call", "of what is kept", "one late"] = "right"
    rotated: Literal["once", "again", "never"] = "once"


_BOTH: tuple[tuple[Kept, str], ...] = (
    ("none", "earlier tokens are forgotten: each call sees its own tokens alone"),
    (
        "last",
        "new keys and values replace those that are kept, and are not appended: each call sees the tokens of the call "
        "before and its own",
    ),
    ("first", "new keys and values are not appended: each call sees those of the first call and its own"),
    ("over", "new keys and values are written over those of the first tokens, and not behind them"),
    (
        "too late",
        "a new token does not see itself: keys and values are appended when the call has looked at the others",
    ),
)

_ORDERS: tuple[tuple[Kept, Kept, str], ...] = (
    ("before", "before", "new keys and values come before those that are kept, and not behind"),
    ("behind", "before", "new values come before those that are kept, and keys behind: weights meet values of others"),
    ("before", "behind", "new keys come before those that are kept, and values behind: weights meet values of others"),
    ("over", "behind", "new keys are written over those of the first tokens, and values behind"),
    ("behind", "over", "new values are written over those of the first tokens, and keys behind"),
)


def cache_mistakes(*, has_rotation: bool) -> Iterator[tuple[str, CacheMistake]]:
    """Yield sentences, without an end, on what a cache does wrong, and how."""
    yield (
        "the causal mask is left out: queries of one call see the tokens after them in that call",
        CacheMistake(mask="none"),
    )
    yield (
        "the causal mask is left out in all calls: queries of one call see the tokens after them in that call",
        CacheMistake(mask="none at all"),
    )
    yield (
        "the causal mask does not count the tokens that are kept: it begins at the first key (top left), so that new "
        "tokens do not see all before them",
        CacheMistake(mask="top left"),
    )
    yield "the causal mask lets a query see the token after it", CacheMistake(mask="one more")
    yield "the causal mask hides a token from itself", CacheMistake(mask="one less")
    for positions in ("right", "of what is kept") if has_rotation else ("right",):
        for kept, sentence in _BOTH:
            yield sentence, CacheMistake(kept, kept, positions=positions)
    for mask in ("right", "none"):
        for keys, values, sentence in _ORDERS:
            yield sentence, CacheMistake(keys, values, mask)
    if has_rotation:
        yield (
            "rotary positions count from 0 in each call, and not from the number of tokens that are kept",
            CacheMistake(positions="of the call"),
        )
        yield "rotary positions of later calls are one too high", CacheMistake(positions="one late")
        yield "keys are kept before they are rotated, and are not rotated later", CacheMistake(rotated="never")
        yield "keys that are kept are rotated again in each call", CacheMistake(rotated="again")


def in_parts(
    sample: Sample, parts: Sequence[tuple[int, int]], rotation: Rotation | None, mistake: CacheMistake
) -> Array:
    """Return the output (B, S, D) of tokens that come in parts, from one position to another."""
    heads = projected(sample)
    keys, values = heads["key"][:, :, :0], heads["value"][:, :, :0]
    outputs: list[Array] = []
    for begin, end in parts:
        query, plain, value = (heads[name][:, :, begin:end] for name in ("query", "key", "value"))
        key = plain
        if rotation is not None:
            kept = keys.shape[2]
            first = {"right": begin, "of the call": 0, "of what is kept": kept, "one late": begin + (begin > 0)}
            positions = range(first[mistake.positions], first[mistake.positions] + end - begin)
            query, key = rotated(query, rotation, positions), rotated(plain, rotation, positions)
            if mistake.rotated == "again" and kept:
                keys = rotated(keys, rotation, range(kept))
        seen_keys, keys = _kept(mistake.keys, keys, key, plain if mistake.rotated == "never" else key, end)
        seen_values, values = _kept(mistake.values, values, value, value, end)
        outputs.append(mixed(sample, _attended(query, seen_keys, seen_values, mistake.mask)))
    return np.concatenate(outputs, axis=1)


def _kept(how: Kept, kept: Array, new: Array, new_to_keep: Array, end: int) -> tuple[Array, Array]:
    """Return the keys or values that a call sees, and those that it keeps."""
    if how == "over":
        # What was never written is zero.
        unwritten = np.zeros_like(new[:, :, :1]).repeat(end, axis=2)
        return _behind(new, kept[:, :, new.shape[2] :], unwritten, until=end), _behind(
            new_to_keep, kept[:, :, new.shape[2] :], unwritten, until=end
        )
    seen = _behind(new, kept) if how == "before" else new if how == "none" else _behind(kept, new)
    if how == "too late" and kept.shape[2]:
        seen = kept
    if how == "before":
        return seen, _behind(new_to_keep, kept)
    is_begun = bool(kept.shape[2])
    keeps = {"none": kept, "last": new_to_keep, "first": kept if is_begun else new_to_keep}
    return seen, keeps[how] if how in keeps else _behind(kept, new_to_keep)


def _behind(*arrays: Array, until: int | None = None) -> Array:
    return np.concatenate(arrays, axis=2)[:, :, :until]


def _attended(query: Array, keys: Array, values: Array, mask: str) -> Array:
    heads, queries, count = query.shape[1], query.shape[2], keys.shape[2]
    # Without a cache there is no other beginning, and the mask is right.
    past = count - queries
    offsets = {"right": past, "top left": 0, "one more": past + 1, "one less": past - 1, "none": count}
    offset = count if mask == "none at all" else offsets[mask] if past else past
    allowed = np.tril(np.ones((queries, count), np.bool_), offset)
    keys, values = shared_by_neighbours(keys, values, heads)
    return scaled_dot_product_attention(query, keys, values, allowed).output
