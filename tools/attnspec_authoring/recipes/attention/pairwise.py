"""Cases in which features meet: bugs come in pairs, and no pair of levels of two features is left out.

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
from attnspec_authoring.recipes.attention.pairwise_rows import LEVELS, ROWS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from attnspec_authoring.recipes.authoring import AuthoredCase

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
