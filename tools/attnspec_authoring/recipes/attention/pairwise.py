"""Cases in which features meet: bugs come in pairs, and no pair of levels of two features is left out.

The rows come from allpairspy 2.5.1 (``AllPairs`` over the levels below, in this order). They are kept as data, so
that another version of the library cannot change a case; a test checks that they cover all pairs.

A case belongs to the profile of its rarest feature, so that an implementation without a cache, say, meets no cache in
another profile; each profile takes its own from here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_authoring.recipes.attention.attendance import depends_on_alignment
from attnspec_authoring.recipes.attention.attention import (
    ATTENTION,
    BOTTOM_RIGHT,
    TOP_LEFT,
    Sizes,
    attention,
    boolean_mask,
    float_mask,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from attnspec_authoring.recipes.authoring import AuthoredCase

LEVELS: Mapping[str, tuple[str, ...]] = {
    "causal": ("off", "top_left", "bottom_right"),
    "mask": ("none", "boolean_2", "boolean_3", "boolean_4", "float_2", "float_3", "float_4"),
    "window": ("none", "left", "both", "right", "open"),
    "scale": ("default", "explicit", "zero", "negative"),
    "softcap": ("on", "off"),
    "heads": ("equal", "grouped"),
    "value_width": ("equal", "wider"),
    "cache": ("past", "key_lengths", "none"),
    "sinks": ("on", "off"),
    "alibi": ("off", "on"),
    "logsumexp": ("off", "on"),
    "keys": ("17", "9", "5"),
}
"""Feature to its levels."""

_TABLE = """
off          none      none  default  on  equal   equal past        on  off off 17
top_left     boolean_2 left  explicit off grouped wider key_lengths off on  on  17
bottom_right boolean_3 both  zero     off equal   wider none        on  on  off 9
bottom_right boolean_4 right negative on  grouped equal none        off off on  5
top_left     float_2   open  negative on  equal   wider key_lengths on  off off 5
off          float_3   open  zero     off grouped equal past        off on  on  9
off          float_4   right explicit off equal   wider past        on  off on  5
top_left     float_4   both  default  on  grouped equal key_lengths off on  off 9
bottom_right float_3   none  explicit on  grouped wider none        on  on  off 5
bottom_right none      left  default  off equal   wider none        off off on  5
top_left     boolean_4 none  zero     off equal   wider key_lengths off off on  9
off          boolean_3 left  negative on  grouped equal past        off off on  9
bottom_right float_2   both  explicit off grouped equal past        off off on  17
off          boolean_2 both  negative off equal   equal none        on  off off 5
top_left     none      right zero     on  grouped equal key_lengths off on  off 9
top_left     float_3   left  zero     off equal   equal none        on  off off 17
bottom_right boolean_2 open  default  on  equal   equal none        off off on  9
off          boolean_4 open  explicit off equal   equal past        on  on  off 17
off          float_2   right default  off equal   equal none        off on  off 9
bottom_right float_4   none  negative off equal   equal none        off on  off 17
top_left     boolean_3 right explicit off equal   equal past        off off off 17
bottom_right boolean_3 none  default  off equal   equal key_lengths off off off 5
off          float_3   right default  off equal   equal key_lengths off off off 9
off          boolean_2 right zero     off equal   equal past        off off off 5
off          none      both  explicit off equal   equal none        off off off 9
off          float_4   open  zero     off equal   equal none        off off off 9
off          float_2   none  zero     off equal   equal none        off off off 9
off          boolean_4 both  default  off equal   equal none        off off off 9
off          none      open  negative off equal   equal none        off off off 9
off          float_3   both  negative off equal   equal none        off off off 9
off          boolean_4 left  default  off equal   equal none        off off off 9
off          float_2   left  default  off equal   equal none        off off off 9
off          float_4   left  default  off equal   equal none        off off off 9
off          boolean_2 none  default  off equal   equal none        off off off 9
off          boolean_3 open  default  off equal   equal none        off off off 9
"""

ROWS: tuple[tuple[str, ...], ...] = tuple(tuple(line.split()) for line in _TABLE.strip().splitlines())
"""The cases: a level of every feature, in the order of `LEVELS`. A row never moves, because its number is in an id."""


QUERIES = 4
PAST = 3
WINDOWS: Mapping[str, list[int | None]] = {"left": [2, None], "both": [3, 1], "right": [None, 1], "open": [None, None]}
SCALES: Mapping[str, float] = {"explicit": 0.75, "zero": 0.0, "negative": -0.5}
SINKS = np.array([0.5, -1.0, 2.0, 0.0, 1.5, -0.25])
SLOPES = np.array([0.5, 0.125, 0.25, 1.0, 0.0625, 0.75])


def profile_of(levels: Mapping[str, str]) -> str:
    """Name the profile of a row."""
    choices = (
        ("sinks", levels["sinks"] == "on"),
        ("alibi", levels["alibi"] == "on"),
        ("cache", levels["cache"] == "past"),
        ("varlen", levels["cache"] == "key_lengths"),
        ("softcap", levels["softcap"] == "on"),
        ("window", levels["window"] != "none"),
        ("grouped_query", levels["heads"] == "grouped"),
        ("causal", levels["causal"] != "off"),
        ("masking", levels["mask"] != "none"),
    )
    return next((profile for profile, used in choices if used), "core")


def sizes_of(levels: Mapping[str, str]) -> Sizes:
    """Return the sizes of a row: one batch entry of two heads or of six over two; three entries where they differ."""
    grouped = levels["heads"] == "grouped"
    differ = not grouped and (levels["cache"] == "key_lengths" or levels["mask"].endswith("4"))
    batch, heads, shared = (3, 1, 1) if differ else (1, 6, 2) if grouped else (1, 2, 2)
    value_width = 4 if levels["value_width"] == "wider" else None
    past = PAST if levels["cache"] == "past" else 0
    return Sizes(batch, heads, shared, QUERIES, int(levels["keys"]), 3, value_width, past)


def mask_shape(sizes: Sizes, rank: int) -> tuple[int, ...]:
    """Return a mask shape of a rank that leaves as much to broadcasting as the rank allows."""
    full = (sizes.batch, sizes.heads, QUERIES, sizes.columns)
    return {2: full[2:], 3: full[1:], 4: (sizes.batch, 1, QUERIES, sizes.columns)}[rank]


def arguments_of(levels: Mapping[str, str], sizes: Sizes, case_id: str) -> dict[str, Any]:
    """Return the inputs and attributes that a row has beside query, key, value and past, but for the alignment."""
    arguments: dict[str, Any] = {}
    kind, _, rank = levels["mask"].partition("_")
    if kind != "none":
        draw = boolean_mask if kind == "boolean" else float_mask
        arguments["mask"] = draw(case_id, mask_shape(sizes, int(rank)))
    if levels["causal"] != "off":
        arguments["is_causal"] = True
    if levels["window"] != "none":
        arguments["window"] = WINDOWS[levels["window"]]
    if levels["scale"] != "default":
        arguments["scale"] = SCALES[levels["scale"]]
    if levels["softcap"] == "on":
        arguments["softcap"] = 1.5
    if levels["cache"] == "key_lengths":
        arguments["key_lengths"] = np.array([sizes.keys - 1, sizes.keys, 3][: sizes.batch])
    if levels["sinks"] == "on":
        arguments["sinks"] = SINKS[: sizes.heads]
    if levels["alibi"] == "on":
        arguments["alibi_slopes"] = SLOPES[: sizes.heads]
    return arguments


REVISED = ("cache/pairs_11",)
"""Cases that are graded otherwise than in the first release."""


def case_of(number: int, levels: Mapping[str, str]) -> AuthoredCase:
    """Make the case of a row; where a row is not causal, its number decides how the queries stand."""
    case_id = f"{profile_of(levels)}/pairs_{number:02}"
    sizes = sizes_of(levels)
    arguments = arguments_of(levels, sizes, case_id)
    tensors = {name: arguments[name] for name in ATTENTION.optional_inputs if name in arguments}
    if depends_on_alignment({**sizes.drawn(case_id), **tensors}, arguments):
        by_number = BOTTOM_RIGHT if number % 2 else TOP_LEFT
        arguments["causal_alignment"] = by_number if levels["causal"] == "off" else levels["causal"]
    usual = {"off", "none", "default", "equal"}
    named = [f"{feature} {level}".replace("_", " ") for feature, level in levels.items() if level not in usual]
    return attention(case_id, f"Features that meet: {', '.join(named)}")(
        sizes,
        outputs=("output", "logsumexp") if levels["logsumexp"] == "on" else ("output",),
        revision=2 if case_id in REVISED else 1,
        **arguments,
    )


def pairwise_cases(profile: str) -> tuple[AuthoredCase, ...]:
    """Return the cases of the rows that belong to a profile."""
    rows = (dict(zip(LEVELS, row, strict=True)) for row in ROWS)
    return tuple(case_of(number, levels) for number, levels in enumerate(rows) if profile_of(levels) == profile)
