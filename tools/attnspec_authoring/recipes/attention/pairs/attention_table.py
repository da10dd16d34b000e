"""The table of scaled dot-product attention: optional inputs, attributes, extents, numbers and memory layouts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attnspec_authoring.recipes.attention.pairs.extents import (
    HEADS,
    KEYS,
    LARGE,
    MOST_BYTES,
    MOST_MASKED,
    PAST,
    QUERIES,
    WIDTHS,
    estimated_bytes,
    large_extents,
    sizes_of,
)
from attnspec_authoring.recipes.attention.pairs.numbers import CLASSES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from attnspec_authoring.covering.construction import Factors

FACTORS: Factors = {
    "features": ("any", "plain"),
    "keys": KEYS,
    "queries": QUERIES,
    "width": WIDTHS,
    "value_width": ("equal", "narrow", "wider", "64"),
    "heads": tuple(HEADS),
    "batch": ("1", "several", "as_heads"),
    "cache": ("none", *PAST, "key_lengths", "query_lengths", "both_lengths", "empty_entry"),
    "mask": ("none", "boolean", "float", "boolean_dead", "float_dead", "float_low"),
    "mask_rank": ("2", "3", "4"),
    "causal": ("off", "on"),
    "window": ("none", "left", "right", "both", "open", "wide_left", "wide_right"),
    "placement": ("unstated", "top_left", "bottom_right"),
    "scale": ("default", "explicit", "above_one", "zero", "negative"),
    "softcap": ("off", "on", "zero"),
    "sinks": ("off", "on"),
    "alibi": ("off", "on"),
    "outputs": ("output", "logsumexp", "weights"),
    "numbers": CLASSES,
    "query_layout": ("plain", "heads_last", "fortran", "reversed", "gapped", "broadcast"),
    "key_layout": ("plain", "heads_last", "fortran", "reversed", "gapped", "broadcast"),
    "value_layout": ("plain", "heads_last", "fortran", "reversed", "gapped", "broadcast", "the_key"),
    "mask_layout": ("plain", "fortran", "reversed", "gapped"),
    "past_layout": ("plain", "heads_last", "reversed", "gapped"),
    "vector_layout": ("plain", "reversed", "gapped"),
}
"""A plain row has nothing beyond a mask and causality, as the simplest implementations have it."""

_OFF: Mapping[str, str] = {
    "cache": "none",
    "mask": "none",
    "causal": "off",
    "window": "none",
    "scale": "default",
    "softcap": "off",
    "sinks": "off",
    "alibi": "off",
}
MOST_FEATURES = 4
"""Features that one row has at most: who offers few of them shall meet many rows."""

MOST_QUERIES_A_KEY = 12
"""Beyond so many queries for each key, too few stand beside the keys."""

_PLAIN: Mapping[str, tuple[str, ...]] = {
    **{name: (off,) for name, off in _OFF.items()},
    "mask": ("none", "boolean", "float"),
    "causal": ("off", "on"),
    "heads": ("2", "1", "3", "9"),
    "outputs": ("output",),
    "past_layout": ("plain",),
    "vector_layout": ("plain",),
}
_OF_KEYS = ("key_lengths", "both_lengths", "empty_entry")
_OF_QUERIES = ("query_lengths", "both_lengths")
_SPECIAL_ROW = ("boolean_dead", "float_dead", "float_low")
_AHEAD = ("right", "wide_left")
"""Windows that exclude nothing but what stands after a query."""


_NARROW = ("left", "wide_right")
"""Windows that leave one query two keys, of which a mask would leave one."""
_BEHIND = ("left", "both", "wide_right")
"""Windows beyond which a past may lie as a whole."""


def allowed(levels: Mapping[str, str]) -> bool:
    """Tell whether a row, or a part of one, may be."""
    if large_extents(levels) > 1 or estimated_bytes(levels) > MOST_BYTES:
        return False
    if _features(levels) > MOST_FEATURES or (levels.get("features") == "plain" and not _is_plain(levels)):
        return False
    return (
        _extents_fit(levels)
        and _lengths_fit(levels)
        and _mask_fits(levels)
        and _positions_fit(levels)
        and _layouts_fit(levels)
        and not (levels.get("softcap") == "on" and _saturates(levels))
    )


def _features(levels: Mapping[str, str]) -> int:
    """Count the features of a row; of a part of one, with those that it still needs for what it has."""
    used = [name for name, off in _OFF.items() if levels.get(name, off) != off]
    of_cache = levels.get("keys") == "1" or levels.get("past_layout", "plain") != "plain"
    needed = {
        ("causal", "window", "alibi"): levels.get("placement", "unstated") != "unstated",
        ("mask",): levels.get("mask_layout", "plain") != "plain" or levels.get("mask_rank", "2") != "2",
        ("cache",): of_cache,
        ("sinks", "alibi", "cache"): levels.get("vector_layout", "plain") != "plain" and not of_cache,
        ("sinks", "alibi"): levels.get("vector_layout", "plain") != "plain" and of_cache,
    }
    return len(used) + sum(need and not set(names) & set(used) for names, need in needed.items())


def _is_plain(levels: Mapping[str, str]) -> bool:
    return levels.get("keys") != "1" and all(levels.get(name, few[0]) in few for name, few in _PLAIN.items())


def _saturates(levels: Mapping[str, str]) -> bool:
    """Tell whether a softcap would see scores of 0 alone, or such that all come out at the cap."""
    wide = levels.get("width") in LARGE["width"]
    negative = levels.get("numbers") == "negative"
    return levels.get("scale") == "zero" or sum((wide, negative, levels.get("scale") == "above_one")) > 1


def _extents_fit(levels: Mapping[str, str]) -> bool:
    """Hold that one new key comes after a past, and that as many entries as heads are more than one."""
    if levels.get("keys") == "1" and levels.get("cache", "past_3") not in PAST:
        return False
    if levels.get("keys") == "1" and levels.get("mask", "none") in _SPECIAL_ROW:
        return False
    if levels.get("batch") == "as_heads" and levels.get("heads") == "1":
        return False
    return levels.get("queries") != "as_keys" or int(levels.get("keys", "5")) <= 129


def _lengths_fit(levels: Mapping[str, str]) -> bool:
    """Hold that lengths cut something off, and that an entry without keys has others beside it."""
    cache = levels.get("cache", "none")
    return not (
        (cache in _OF_QUERIES and levels.get("queries") == "1")
        or (cache == "empty_entry" and levels.get("batch") == "1")
        or (cache == "empty_entry" and levels.get("batch") == "as_heads" and levels.get("heads") == "2")
    )


def _mask_fits(levels: Mapping[str, str]) -> bool:
    """Hold that a row of a mask that is unlike the others has others beside it."""
    if levels.get("mask") == "none":
        return levels.get("mask_layout", "plain") == "plain" and levels.get("mask_rank", "2") == "2"
    if levels.get("mask") not in _SPECIAL_ROW:
        return True
    sizes = sizes_of(levels)
    return levels.get("queries") != "1" and sizes.queries * sizes.columns <= MOST_MASKED


def _positions_fit(levels: Mapping[str, str]) -> bool:
    """Hold that placement is stated exactly where it matters, and leaves keys and past in reach."""
    causal, window, placement = levels.get("causal"), levels.get("window"), levels.get("placement")
    if causal == "on" and window in _AHEAD:
        return False
    one_query = levels.get("queries") == "1" or (levels.get("queries") == "as_keys" and levels.get("keys") == "1")
    if one_query and (window in _AHEAD or (window in _NARROW and _is_taken_from(levels))):
        return False
    all_behind = levels.get("keys") == "1" and placement == "top_left" and levels.get("queries") != "1"
    if all_behind and (causal == "on" or window in _AHEAD):
        return False
    if placement is None:
        return True
    certainly = causal == "on" or window not in (None, "none", "open") or levels.get("alibi") == "on"
    possibly = certainly or causal is None or window is None or levels.get("alibi") is None
    sizes = sizes_of(levels)
    known = {"queries", "keys", "cache"} <= levels.keys()
    lengths = levels.get("cache") in (*_OF_KEYS, *_OF_QUERIES)
    differ = not known or sizes.queries != sizes.keys or lengths
    if placement == "unstated":
        return not (certainly and known and differ)
    if not possibly or not differ:
        return False
    if not known:
        return True
    hides = causal == "on" or window not in (None, "none", "open")
    if placement == "bottom_right" and sizes.past and window in _BEHIND:
        reach = sizes.columns // 3 + 1 if window == "both" else 1
        if sizes.keys - sizes.queries >= reach:
            return False
    if placement == "top_left" and not hides:
        return True
    # Some of the queries that are looked at must stand beside the keys.
    if sizes.queries > MOST_QUERIES_A_KEY * sizes.columns:
        return False
    if placement == "bottom_right":
        return True
    # Lengths cut a quarter of the keys off, which some query must reach.
    return sizes.keys <= (sizes.queries + 1 if levels["cache"] in _OF_KEYS else 4 * sizes.queries)


def _is_taken_from(levels: Mapping[str, str]) -> bool:
    """Tell whether of two keys only one is left, or both are alike."""
    return levels.get("mask", "none") != "none" or levels.get("numbers") == "cancelling"


def _layouts_fit(levels: Mapping[str, str]) -> bool:
    """Hold that what lies in another layout is there, and that one tensor at most stands for all entries."""
    if levels.get("past_layout", "plain") != "plain" and levels.get("cache", "past_3") not in PAST:
        return False
    if levels.get("vector_layout", "plain") != "plain":
        vectors = {"sinks": "on", "alibi": "on", "cache": "key_lengths"}
        missing = [name for name in vectors if levels.get(name, "on") in ("off", "none", *PAST)]
        if len(missing) == len(vectors):
            return False
    layouts = [levels.get(f"{name}_layout", "plain") for name in ("query", "key", "value")]
    if layouts.count("broadcast") > 1 or ("broadcast" in layouts and levels.get("batch", "several") == "1"):
        return False
    return layouts[2] != "the_key" or (
        levels.get("key_layout", "plain") == "plain"
        and levels.get("value_width", "equal") == "equal"
        and levels.get("numbers") not in ("tiny", "cancelling")
    )
