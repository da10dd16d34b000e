"""Norms as the harness judges them, and the features of their cases, by which failures are sorted."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from attnspec.families.norms.formulas import formula
from attnspec.families.norms.tolerances import tolerance
from attnspec.families.record import Family

if TYPE_CHECKING:
    from attnspec.cases import Case

_WIDE = 64
_AXES = 4
"""Batch, heads, tokens and features, counted from the end: a tensor that is to be refused may lack the first ones."""


def features(case: Case) -> list[tuple[str, bool]]:
    """Return what a case has, each as the rest of a sentence that begins with "The case has", and whether it does."""
    return [
        ("weights less 1", case.attributes.get("weight_offset") == "one"),
        ("an epsilon of 0", case.attributes["epsilon"] == 0),
        ("an epsilon of at least 0.01", case.attributes["epsilon"] >= 0.01),
        *(_features_of_rms_norm if case.operation == "rms_norm" else _features_of_qk_norm)(case),
        ("an input in another memory layout", bool(case.memory_order)),
    ]


def _features_of_rms_norm(case: Case) -> list[tuple[str, bool]]:
    x = case.inputs["x"]
    return [
        ("a single feature", x.shape[-1:] == (1,)),
        (f"more than {_WIDE} features", x.shape[-1] > _WIDE),
        ("features beyond 256, whose squares float16 does not hold", bool(np.any(np.abs(x) > 256))),
        ("NaN or infinity among the inputs", not bool(np.isfinite(x).all())),
    ]


def _features_of_qk_norm(case: Case) -> list[tuple[str, bool]]:
    query, key, cos = (case.inputs.get(name) for name in ("query", "key", "cos"))
    heads, key_heads = (((1,) * _AXES + array.shape)[-3] if array is not None else 1 for array in (query, key))
    return [
        ("features of all heads that are normalized together", case.attributes.get("normalized_over") == "all_heads"),
        ("tables, by which queries and keys are rotated", cos is not None),
        ("interleaved pairs", case.attributes.get("pairing") == "interleaved"),
        (
            "features that are not rotated",
            cos is not None and query is not None and query.shape[-1] > 2 * cos.shape[-1],
        ),
        ("fewer key heads than query heads", key_heads < heads),
        ("a single head", heads == 1),
    ]


FAMILY = Family("norms", tolerance=tolerance, features=features, formula=formula)
