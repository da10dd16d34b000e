"""Scales of more axes or batch entries than there are, which would repeat what they multiply."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from attnspec_authoring.recipes.attention.attention import Sizes
from attnspec_authoring.recipes.attention.quantized.numbers import (
    INT8,
    KEY_SCALES,
    QUERY_SCALES,
    VALUE_SCALES,
    as_scale,
    quantized,
)
from attnspec_authoring.recipes.attention.rejects.scales import CLAUSE
from attnspec_authoring.recipes.attention.rejects.twins import STRICT, refused

if TYPE_CHECKING:
    from attnspec_authoring.recipes.authoring import AuthoredCase

SCALES = {"query": QUERY_SCALES, "key": KEY_SCALES, "value": VALUE_SCALES}
TWIN = "twin_scales"


def cases() -> tuple[AuthoredCase, ...]:
    """Return scales of two batch entries for one, and scales of rank 3, beside scales of the heads alone."""
    valid = quantized(TWIN, "Valid twin: scales for each of two key heads, in one batch entry")(
        Sizes(1, 2, 2, 3, 4, 2),
        query=INT8,
        key=INT8,
        value=INT8,
        query_scale=QUERY_SCALES,
        key_scale=KEY_SCALES,
        value_scale=VALUE_SCALES,
        profile="rejects",
    )
    plural = {"query": "queries", "key": "keys", "value": "values"}
    wrong = (
        ("two_entries_for_one", "of two batch entries for one", (2, 2)),
        ("an_axis_too_many", "of rank 3", (1, 1, 2)),
    )
    return (
        valid,
        *(
            refused(f"{tensor}_scale_of_{name}", f"Scales of {plural[tensor]} {what} are refused")(
                CLAUSE,
                valid.id,
                {**valid.inputs, f"{tensor}_scale": as_scale(np.broadcast_to(scales, shape))},
                reason=f"The {tensor}_scale is {what}.",
                convention=STRICT,
                attributes=valid.attributes,
            )
            for tensor, scales in SCALES.items()
            for name, what, shape in wrong
        ),
    )
