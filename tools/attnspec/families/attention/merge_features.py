"""Features of a case of two merged parts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from attnspec.cases import Case

_WIDTHS = (8, 16, 32, 64)

_GAPS = (1, 20, 88, 709)
"""Distances between both logarithms: where weights are alike, where the lighter part is lost from the last digits of
float32, and where a power that is not taken from the larger one overflows, in float32 and in float64."""

_LARGE = (88, 709, 9000)
"""Logarithms whose own power overflows, in float32 and in float64, and those that a sum rounds away."""


def features_of_parts(case: Case) -> list[tuple[str, bool]]:
    """Return what a case has, each as the rest of a sentence that begins with "The case has", and whether it does."""
    if case.rejects is not None:
        return []
    first, second = case.inputs["logsumexp_a"], case.inputs["logsumexp_b"]
    no_keys = np.isneginf(first), np.isneginf(second)
    batch, heads, queries, width = case.inputs["output_a"].shape
    with np.errstate(invalid="ignore"):
        gap = np.where(no_keys[0] | no_keys[1], 0.0, first - second)
        largest = np.maximum(first, second)
        size = np.where(np.isneginf(largest), 0.0, np.abs(largest))
    finite = not any((none | np.isnan(array)).any() for none, array in zip(no_keys, (first, second), strict=True))
    return [
        ("a first part without keys", bool((no_keys[0] & ~no_keys[1]).any())),
        ("a second part without keys", bool((no_keys[1] & ~no_keys[0]).any())),
        ("two parts without keys", bool((no_keys[0] & no_keys[1]).any())),
        ("keys in both parts of every row", finite),
        ("equal logarithms", bool((first == second)[~no_keys[0]].any())),
        *((f"a first part that is heavier by more than {far}", bool((gap > far).any())) for far in _GAPS),
        *((f"a second part that is heavier by more than {far}", bool((-gap > far).any())) for far in _GAPS),
        *((f"a larger logarithm beyond {far}", bool((size > far).any())) for far in _LARGE),
        ("a larger logarithm below 0", bool((largest[~np.isneginf(largest)] < 0).any())),
        ("more than one batch entry", batch > 1),
        ("more than one head", heads > 1),
        ("as many heads as batch entries", heads == batch > 1),
        ("as many heads as queries", heads == queries > 1),
        ("a single query", queries == 1),
        ("a single feature", width == 1),
        *((f"more than {wide} features", width > wide) for wide in _WIDTHS),
    ]
