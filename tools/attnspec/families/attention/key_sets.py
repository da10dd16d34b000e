"""Key sets: which keys queries attended, and which they should have.

Weights show it, and so does the output of a key-set probe: a case whose scores are all 0 and whose values are rows of
the identity, so that the output holds the weights themselves.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from attnspec.families.attention.steps.attendance import attendance
from attnspec.families.attention.steps.quantized import product_with_scale
from attnspec.families.record import Arrays, KeySets

if TYPE_CHECKING:
    from attnspec.cases import Case

_NO_WEIGHT = 1e-9
"""The largest share that counts as no weight: the smallest that `_LARGEST_SCORE` leaves a key lies far above."""

_NEARLY_ONE = 1.01
"""The largest weight that counts as one: in half precision a share may come back a little above 1."""

_LARGEST_SCORE = 10.0
"""Scores below it leave every key a weight far above `_NO_WEIGHT`."""


def key_sets(case: Case, dtype: str, got: Arrays) -> KeySets | None:
    """Return which keys were attended and which should have been (B, H, Sq, Sk); None where outputs do not show it."""
    golden = case.golden(dtype)
    if case.operation == "causal_mask":
        return _sets_of_mask(got["output"], golden["output"])
    name = "weights" if "weights" in got and "weights" in golden else "output"
    if not is_probe(case) and (name == "output" or not _has_moderate_scores(case)):
        return None
    given, expected = got[name].astype(np.float64), golden[name]
    # An output that holds no shares shows no set of keys.
    if given.ndim != 4 or given.shape != expected.shape or not np.isfinite(expected).all():
        return None
    if not (np.isfinite(given) & (given >= 0) & (given <= _NEARLY_ONE)).all():
        return None
    # A key with a tiny share cannot be distinguished from an excluded one, so the right sets must be beyond doubt.
    attended: NDArray[np.bool_] = given > _NO_WEIGHT
    should: NDArray[np.bool_] = expected > _NO_WEIGHT
    if ((expected > 0) & ~should).any():
        return None
    if "query_lengths" in case.inputs:
        lengths: NDArray[np.int64] = case.inputs["query_lengths"].reshape(-1, 1, 1, 1)
        counted: NDArray[np.bool_] = np.less(np.arange(int(expected.shape[2]))[:, np.newaxis], lengths)
        attended, should = attended & counted, should & counted
    return KeySets(attended, should)


def is_probe(case: Case) -> bool:
    """Return whether the output of a case holds the weights: scores of 0, and the identity as values."""
    inputs = case.inputs
    if case.operation != "scaled_dot_product_attention" or case.generated or inputs["query"].any():
        return False
    if "value_scale" in inputs:
        return False
    value = np.concatenate([inputs[name] for name in ("past_value", "value") if name in inputs], axis=2)
    return value.shape[2] == value.shape[3] > 0 and bool((value == np.eye(value.shape[2])).all())


def _has_moderate_scores(case: Case) -> bool:
    """Return whether no weight vanishes by itself, even where the scores are not scaled."""
    if case.operation != "scaled_dot_product_attention":
        return False
    given = {name: case.inputs[name] for name in ("query", "key", "past_key") if name in case.inputs}
    shared = case.inputs["key"].shape[1]
    query, *keys = (
        product_with_scale(array, case.inputs.get(f"{name.removeprefix('past_')}_scale"), shared)
        for name, array in given.items()
    )
    longest = max(np.linalg.norm(key, axis=-1).max(initial=0.0) for key in keys)
    score = float(np.linalg.norm(query, axis=-1).max(initial=0.0) * longest)
    return score * max(1.0, abs(case.attributes.get("scale") or 0.0)) < _LARGEST_SCORE


def _sets_of_mask(given: NDArray[Any], expected: NDArray[Any]) -> KeySets | None:
    if given.shape != expected.shape:
        return None
    # A mask to be added hides by minus infinity; any other holds truth values.
    hides = -np.inf if expected.dtype.kind == "f" else 0
    return KeySets((given != hides)[np.newaxis, np.newaxis], (expected != hides)[np.newaxis, np.newaxis])


def attendable_keys(case: Case) -> NDArray[np.bool_] | None:
    """Return which key each query may attend (B, H, Sq, P + Sk), or None for an operation without such a question."""
    inputs, attributes = case.inputs, case.attributes
    # A picture of a hundred thousand tokens shows nothing, and would fill the memory.
    if case.rejects is not None or case.generated:
        return None
    if case.operation in ("scaled_dot_product_attention", "scaled_dot_product_attention_backward"):
        query, key = inputs["query"].shape, inputs["key"].shape
        past = inputs["past_key"].shape[-2] if "past_key" in inputs else 0
        names = ("is_causal", "causal_alignment", "window")
        placing = {name: attributes[name] for name in names if name in attributes}
        return attendance((*query[:3], past + key[-2]), past, inputs, **placing).attendable
    if "latent" in inputs:
        past = inputs["past_latent"].shape[1] if "past_latent" in inputs else 0
        shape = (*inputs["query_rotary"].shape[:3], past + inputs["latent"].shape[1])
        placing = {name: attributes[name] for name in ("is_causal", "causal_alignment") if name in attributes}
        return attendance(shape, past, inputs, **placing).attendable
    if case.operation == "multi_head_attention":
        query, key = inputs["query"].shape, inputs["key"].shape
        shape = (query[0], attributes["num_heads"], query[1], key[1])
        return attendance(shape, 0, inputs, is_causal=attributes.get("is_causal", False)).attendable
    return None
