"""Quantized tensors and their scales in memory, in one array, and in calls that differ in one of them alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec.cases import ChangedArgument
from attnspec_authoring.recipes.attention.attention import Sizes
from attnspec_authoring.recipes.attention.quantized.granularity import SMALL
from attnspec_authoring.recipes.attention.quantized.numbers import (
    INT8,
    KEY_SCALES,
    KEY_SCALES_OF_THREE,
    QUERY_SCALES,
    VALUE_SCALES,
    VALUE_SCALES_OF_THREE,
    held,
    quantized,
)
from attnspec_authoring.recipes.authoring import row

if TYPE_CHECKING:
    from attnspec_authoring.recipes.authoring import AuthoredCase

PER_HEAD: dict[str, Any] = {"key_scale": KEY_SCALES, "value_scale": VALUE_SCALES}
OF_BATCH: dict[str, Any] = {"key_scale": KEY_SCALES_OF_THREE, "value_scale": VALUE_SCALES_OF_THREE}


def in_memory() -> tuple[AuthoredCase, ...]:
    """Return tensors and scales in other memory layouts."""
    layouts = (
        row("heads_last", "Tokens before heads in memory")(
            PER_HEAD, dict.fromkeys(("query", "key", "value"), "heads_last")
        ),
        row("gapped", "Gaps between numbers, and between scales")(
            OF_BATCH, dict.fromkeys(("key", "value_scale"), "gapped")
        ),
        row("reversed", "Numbers and scales that run backwards")(
            PER_HEAD, dict.fromkeys(("value", "key_scale"), "reversed")
        ),
        row("fortran", "Columns first")(
            OF_BATCH, dict.fromkeys(("key", "value", "key_scale", "value_scale"), "fortran")
        ),
        row("readonly", "Numbers and scales that cannot be written to")(
            PER_HEAD, dict.fromkeys(("key", "value", "key_scale", "value_scale"), "readonly")
        ),
    )
    made = [
        quantized(f"memory_{name}", title)(SMALL, presentation=presentation, **scales)
        for name, title, scales, presentation in layouts
    ]
    sizes = Sizes(1, 2, 2, 3, 4, 2)
    shared = held("quantized/memory_shared/key", sizes.shapes()["key"], INT8)
    made.append(
        quantized("memory_shared", "Keys and values are one array, each with scales of its own")(
            sizes,
            key=INT8,
            value=INT8,
            given={"key": shared, "value": shared},
            presentation={"key": "shared", "value": "shared"},
            **PER_HEAD,
        )
    )
    made.append(
        quantized("memory_shared_scale", "Keys and values have one array of scales")(
            sizes,
            key=INT8,
            value=INT8,
            key_scale=(0.0415, 0.0123),
            value_scale=(0.0415, 0.0123),
            presentation={"key_scale": "shared", "value_scale": "shared"},
        )
    )
    return tuple(made)


def changed_arguments() -> tuple[AuthoredCase, ...]:
    """Return cases that are followed by a call with other scales, or other numbers."""
    return (
        quantized("other_key_scales", "Scales of keys, then others")(
            SMALL, changed_argument=_reversed("key_scale"), **PER_HEAD
        ),
        quantized("other_value_scales", "Scales of values, then others")(
            SMALL, key=INT8, value=INT8, changed_argument=_reversed("value_scale"), **OF_BATCH
        ),
        quantized("other_query_scales", "Scales of queries, then others")(
            SMALL,
            query=INT8,
            key=INT8,
            value=INT8,
            query_scale=QUERY_SCALES,
            changed_argument=_reversed("query_scale"),
            **PER_HEAD,
        ),
        quantized("other_keys", "Keys, then others under the same scales")(
            SMALL, changed_argument=_reversed("key"), **PER_HEAD
        ),
        quantized("other_values", "Values, then others under the same scales")(
            Sizes(1, 2, 2, 3, 4, 2),
            given={"value": np.arange(16.0).reshape(1, 2, 4, 2) * 8.0},
            changed_argument=_reversed("value"),
        ),
    )


def _reversed(name: str) -> ChangedArgument:
    return ChangedArgument(name, reversed=True)


def cases() -> tuple[AuthoredCase, ...]:
    """Return the cases about what lies around a call."""
    return (*in_memory(), *changed_arguments())
