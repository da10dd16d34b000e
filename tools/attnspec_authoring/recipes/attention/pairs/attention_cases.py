"""The table of scaled dot-product attention, and the case of a row."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_authoring.covering.table import Table
from attnspec_authoring.recipes.attention.attendance import depends_on_alignment
from attnspec_authoring.recipes.attention.attention import (
    BOTTOM_RIGHT,
    HIDDEN,
    TOP_LEFT,
    Sizes,
    attention,
    every_row_keeps_one,
)
from attnspec_authoring.recipes.attention.pairs.numbers import (
    CLASSES,
    HEADS,
    KEYS,
    LARGE,
    MOST_BYTES,
    MOST_MASKED,
    PAST,
    QUERIES,
    WIDTHS,
    attention_numbers,
    drawing,
    dtypes_of,
    estimated_bytes,
    is_exact,
    large_extents,
    mask_shape,
    sample_of,
    sizes_of,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from attnspec_authoring.covering.construction import Factors
    from attnspec_authoring.recipes.authoring import AuthoredCase

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
    """Return whether a row, or a part of one, may be."""
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
    """Return whether a softcap would see scores of 0 alone, or such that all come out at the cap."""
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
    """Hold that placement is stated exactly where it matters, and leaves keys and past visible."""
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
        extent = sizes.columns // 3 + 1 if window == "both" else 1
        if sizes.keys - sizes.queries >= extent:
            return False
    if placement == "top_left" and not hides:
        return True
    # Some of the queries that are looked at must stand beside the keys.
    if sizes.queries > MOST_QUERIES_A_KEY * sizes.columns:
        return False
    if placement == "bottom_right":
        return True
    # Lengths cut a quarter of the keys off, which some query must attend to.
    return sizes.keys <= (sizes.queries + 1 if levels["cache"] in _OF_KEYS else 4 * sizes.queries)


def _is_taken_from(levels: Mapping[str, str]) -> bool:
    """Return whether of two keys only one is left, or both are alike."""
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


LOW = -9984.0
"""What a mask adds to each key of one row: many take such a number for exclusion, but equal numbers change nothing."""

_SCALES: Mapping[str, tuple[float, float]] = {
    "explicit": (0.3, 0.3125),
    "above_one": (1.7, 1.5),
    "zero": (0.0, 0.0),
    "negative": (-0.6, -0.5),
}
"""Level to the scale: of full width, and exact in every dtype."""
_SOFTCAP = (1.3, 1.5)


def case_of(case_id: str, levels: Mapping[str, str], seed: int) -> AuthoredCase:
    """Make the case of a row."""
    sizes = sizes_of(levels)
    name = f"{case_id}/{seed}"
    numbers = levels["numbers"]
    shapes = sizes.shapes()
    joined = {tensor: (*shapes[tensor][:2], sizes.columns, shapes[tensor][3]) for tensor in ("key", "value")}
    tensors: dict[str, Any] = attention_numbers(numbers, name, {"query": shapes["query"], **joined}, past=sizes.past)
    if levels["value_layout"] == "the_key":
        tensors["value"] = tensors["key"]
    memory_order = memory_order_of(levels)
    for tensor, layout in memory_order.items():
        if layout == "broadcast":
            tensors[tensor] = np.broadcast_to(tensors[tensor][:1], tensors[tensor].shape)
    arguments: dict[str, Any] = {**tensors, **optional_inputs(levels, sizes, name), **attributes_of(levels, sizes)}
    inputs: dict[str, NDArray[Any]] = {
        argument: given for argument, given in arguments.items() if isinstance(given, np.ndarray)
    }
    if depends_on_alignment(inputs, arguments):
        arguments["causal_alignment"] = BOTTOM_RIGHT if levels["placement"] == "bottom_right" else TOP_LEFT
    values = tensors["value"].shape[3]
    outputs = ("output",) if levels["outputs"] == "output" else ("output", levels["outputs"])
    return attention(case_id, title_of(levels, sizes))(
        sizes,
        outputs=outputs,
        dtypes=dtypes_of(numbers),
        memory_order=memory_order,
        sample=sample_of("output", sizes.batch * sizes.heads * sizes.queries * values, values),
        exact=is_exact(numbers),
        **arguments,
    )


def memory_order_of(levels: Mapping[str, str]) -> dict[str, str]:
    """Return the memory layout of every input of a row that does not lie there as usual."""
    layouts = {name: levels[f"{name}_layout"] for name in ("query", "key", "value", "mask")}
    if levels["cache"].startswith("past"):
        layouts |= dict.fromkeys(("past_key", "past_value"), levels["past_layout"])
    lengths = {"key_lengths": ("key_lengths",), "empty_entry": ("key_lengths",), "query_lengths": ("query_lengths",)}
    vectors = [
        *lengths.get(levels["cache"], ("key_lengths", "query_lengths") if levels["cache"] == "both_lengths" else ()),
        *(("sinks",) if levels["sinks"] == "on" else ()),
        *(("alibi_slopes",) if levels["alibi"] == "on" else ()),
    ]
    layouts |= dict.fromkeys(vectors, levels["vector_layout"])
    if layouts["value"] == "the_key":
        layouts |= {"key": "shared", "value": "shared"}
    return {name: layout for name, layout in layouts.items() if layout != "plain"}


def optional_inputs(levels: Mapping[str, str], sizes: Sizes, name: str) -> dict[str, NDArray[Any]]:
    """Return mask, lengths, sinks and slopes of a row."""
    made: dict[str, NDArray[Any]] = {}
    numbers = levels["numbers"]
    draw = drawing(numbers)
    if levels["mask"] != "none":
        made["mask"] = mask_of(levels, sizes, name)
    cache = levels["cache"]
    entry: NDArray[np.int64] = np.arange(sizes.batch, dtype=np.int64)
    if cache in ("key_lengths", "both_lengths", "empty_entry"):
        # A quarter of the keys less for each entry, so that whole tiles are beyond.
        quarter = max(1, sizes.keys // 4)
        lengths = np.maximum(sizes.keys - 1 - quarter * (entry + (cache != "empty_entry")), 1)
        made["key_lengths"] = np.insert(lengths[:-1], sizes.batch // 2, 0) if cache == "empty_entry" else lengths
    if cache in ("query_lengths", "both_lengths"):
        made["query_lengths"] = np.maximum(sizes.queries - 1 - entry, 1)
    if levels["sinks"] == "on":
        # About as much as all keys together, so that a sink takes a share that shows.
        level = np.log(sizes.columns)
        drawn = draw(f"{name}/sinks", (sizes.heads,))
        made["sinks"] = (
            np.round(drawn * 4.0) / 4.0 + np.round(level) if is_exact(numbers) else np.round(drawn + level, 4)
        )
    if levels["alibi"] == "on":
        # So that the farthest keys lose some units.
        halvings: NDArray[np.int64] = np.arange(sizes.heads, dtype=np.int64) % 3
        fall: NDArray[np.float64] = np.exp2(round(math.log2(6.0 / sizes.columns)) - halvings.astype(np.float64))
        made["alibi_slopes"] = fall if is_exact(numbers) else np.round(fall * 1.13, 5)
    return made


def mask_of(levels: Mapping[str, str], sizes: Sizes, name: str) -> NDArray[Any]:
    """Return the mask of a row."""
    kind, _, special = levels["mask"].partition("_")
    numbers = levels["numbers"]
    shape = mask_shape(levels, sizes)
    rows = shape[-2]
    draw = drawing(numbers)
    hidden = (draw(f"{name}/hidden", shape) < -0.4) & ~every_row_keeps_one(shape)
    if kind == "boolean":
        mask: NDArray[Any] = ~hidden
    else:
        mask = np.where(hidden & (draw(f"{name}/mask again", shape) < 0.0), HIDDEN, draw(f"{name}/mask", shape))
    if special == "dead":
        mask[..., rows // 4, :] = False if kind == "boolean" else HIDDEN
    elif special == "low":
        mask[..., rows // 4, :] = LOW
    return mask


def attributes_of(levels: Mapping[str, str], sizes: Sizes) -> dict[str, Any]:
    """Return the attributes of a row, but for the alignment."""
    exact = is_exact(levels["numbers"])
    third = sizes.columns // 3
    windows: Mapping[str, list[int | None]] = {
        "left": [1, None],
        "right": [None, 1],
        "both": [third + 1, 1],
        "open": [None, None],
        "wide_left": [sizes.columns + 3, 1],
        "wide_right": [1, sizes.columns + 3],
    }
    made: dict[str, Any] = {}
    if levels["causal"] == "on":
        made["is_causal"] = True
    if levels["window"] != "none":
        made["window"] = windows[levels["window"]]
    if levels["scale"] != "default":
        made["scale"] = _SCALES[levels["scale"]][exact]
        if levels["scale"] == "explicit" and sizes.width > 8:
            made["scale"] = 0.0625 if exact else 0.07
    if levels["softcap"] != "off":
        made["softcap"] = 0.0 if levels["softcap"] == "zero" else _SOFTCAP[exact]
    return made


def title_of(levels: Mapping[str, str], sizes: Sizes) -> str:
    """Say what a row has: its sizes, then what is not as usual."""
    usual = {
        **{name: options[0] for name, options in FACTORS.items()},
        **dict.fromkeys(("features", "keys", "queries", "width", "value_width", "heads", "batch", "numbers"), None),
    }
    said = [
        f"{name} {level}".replace("_", " ")
        for name, level in levels.items()
        if usual[name] is not None and level != usual[name]
    ]
    values = sizes.width if sizes.value_width is None else sizes.value_width
    extents = (
        f"{sizes.batch} x {sizes.heads} heads over {sizes.shared}, {sizes.queries} queries, {sizes.keys} keys, "
        f"widths {sizes.width} and {values}"
    )
    return ": ".join([extents, ", ".join([*said, f"numbers {levels['numbers']}"])])


TABLE = Table("pairs/attention", Path(__file__).with_name("attention_rows.txt"), FACTORS, allowed, case_of)
