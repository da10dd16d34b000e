"""Scales of quantized tensors that match neither heads nor batch entries, or would repeat what they multiply."""

from __future__ import annotations

import numpy as np

from attnspec_authoring.recipes.attention.attention import Sizes
from attnspec_authoring.recipes.attention.quantized import granularity
from attnspec_authoring.recipes.attention.quantized.formats import (
    INT8,
    KEY_SCALES,
    QUERY_SCALES,
    VALUE_SCALES,
    as_scale,
    quantized,
)
from attnspec_authoring.recipes.attention.rejects.twins import STRICT, refused
from attnspec_authoring.recipes.authoring import AuthoredCase, row

CLAUSE = "sdpa.rejects.scale_shape"


def of_every_scale() -> tuple[AuthoredCase, ...]:
    """Return each of the three scales in every shape that could be taken for a right one, beside two right ones."""
    of_entries, of_heads = (
        {case.id: case for case in granularity.cases()}[f"quantized/{name}"]
        for name in ("query_per_batch_entry", "query_grouped")
    )
    entries, heads = np.linspace(0.01, 0.05, 3), np.linspace(0.01, 0.05, 6)
    shapes = (
        ("list_of_entries", "One scale for each batch entry in one axis", of_entries, entries, None),
        ("heads_before_entries", "Scales with heads before batch entries", of_entries, heads.reshape(2, 3), None),
        ("two_of_three_entries", "Scales of two batch entries for three", of_entries, heads[:4].reshape(2, 2), None),
        ("axis_behind", "Scales with an axis behind the heads", of_entries, heads.reshape(3, 2, 1), None),
        ("axes_of_keys", "Scales with axes of tokens and features", of_entries, heads.reshape(3, 2, 1, 1), None),
        ("axis_before", "Scales with an axis before the batch entries", of_entries, heads.reshape(1, 3, 2), STRICT),
        ("query_heads_of_entries", "Scales of six query heads of two", of_heads, np.tile(heads, (2, 1)), None),
    )
    return tuple(
        refused(f"{tensor}_scale_{name}", f"{title} are refused, as those of the {tensor}")(
            CLAUSE,
            twin.id,
            {**twin.inputs, f"{tensor}_scale": as_scale(scale)},
            reason=f"{title} do not fit.",
            convention=convention,
            attributes=twin.attributes,
        )
        for name, title, twin, scale, convention in shapes
        for tensor in ("query", "key", "value")
    )


def of_some_shapes() -> tuple[AuthoredCase, ...]:
    """Return scales of some shapes, each beside a twin that is near to it."""
    valid = {case.id: case for case in granularity.cases()}
    three = "quantized/grouped_three_heads"
    six, query = "quantized/grouped_per_batch_entry", "quantized/query_grouped"
    for_six, for_three = [0.02] * 6, [0.3] * 3
    wrong = (
        row("key_scale_of_query_heads", "A scale of keys for each of six query heads")(six, "key_scale", for_six, None),
        row("value_scale_of_query_heads", "A scale of values for each of six query heads")(
            six, "value_scale", for_six, None
        ),
        row("query_scale_of_query_heads", "A scale of queries for each of six query heads")(
            query, "query_scale", [0.02] * 6, None
        ),
        row("key_scale_of_two_heads", "Two scales of keys for three key heads")(three, "key_scale", [0.01, 0.02], None),
        row("value_scale_of_two_entries", "Scales of two batch entries for three")(
            three, "value_scale", [for_three] * 2, None
        ),
        row("value_scale_transposed", "Scales of heads and entries, transposed")(
            three, "value_scale", [[0.3, 0.4]] * 3, None
        ),
        row("key_scale_of_one_axis", "A scale for each head of each batch entry in one axis")(
            six, "key_scale", [0.01, 0.02, 0.03, 0.04], None
        ),
        row("key_scale_of_rank_3", "A scale of keys of rank 3")(six, "key_scale", [[[0.01], [0.02]]] * 2, STRICT),
    )
    return tuple(
        refused(name, f"{title} {'is' if title.startswith('A ') else 'are'} refused")(
            CLAUSE,
            twin,
            {**valid[twin].inputs, tensor: as_scale(scale)},
            reason=f"{title} {'does' if title.startswith('A ') else 'do'} not fit.",
            convention=convention,
            attributes=valid[twin].attributes,
        )
        for name, title, twin, tensor, scale, convention in wrong
    )


SCALES = {"query": QUERY_SCALES, "key": KEY_SCALES, "value": VALUE_SCALES}
TWIN = "twin_scales"


def repeated_scales_cases() -> tuple[AuthoredCase, ...]:
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


def cases() -> tuple[AuthoredCase, ...]:
    """Return all of them."""
    return (*of_some_shapes(), *of_every_scale(), *repeated_scales_cases())
