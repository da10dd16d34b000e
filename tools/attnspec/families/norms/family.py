"""Norms as the harness judges them, and the features of their cases, by which failures are sorted."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from attnspec.families.norms.formulas import formula
from attnspec.families.norms.tolerances import tolerance
from attnspec.families.parts import BATCH, TOKEN, last_alone, other_neighbours, other_order
from attnspec.families.record import Family

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from attnspec.cases import Case
    from attnspec.families.record import Part

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


def parts(case: Case, kinds: Sequence[str], _: Mapping[str, str]) -> Sequence[Part]:
    """Return the parts of some kinds of a case: an entry alone, beside NaN, in another order; a token alone."""
    made: Mapping[str, Callable[[], Part]] = {
        "alone": lambda: last_alone("alone", case, BATCH),
        "order": lambda: other_order(case),
        "neighbours": lambda: other_neighbours(case, {n: np.full_like(x, np.nan) for n, x in case.inputs.items()}),
        "queries": lambda: last_alone("queries", case, TOKEN),
    }
    return [made[kind]() for kind in kinds]


_USUAL_NAMES: Mapping[str, Sequence[str]] = {
    "x": ["hidden_states", "input", "inputs", "hidden"],
    "weight": ["scale", "gamma", "g", "w", "gain"],
    "query": ["q", "queries", "query_states", "xq"],
    "key": ["k", "keys", "key_states", "xk"],
    "query_weight": ["q_weight", "q_norm_weight", "q_scale", "q_gamma", "wq", "q_norm"],
    "key_weight": ["k_weight", "k_norm_weight", "k_scale", "k_gamma", "wk", "k_norm"],
    "cos": ["cosine", "cosines", "cos_cache"],
    "sin": ["sine", "sines", "sin_cache"],
    "epsilon": ["eps", "variance_epsilon", "rms_norm_eps", "norm_eps"],
    "query_output": ["q_out", "q_normed", "q"],
    "key_output": ["k_out", "k_normed", "k"],
}

FAMILY = Family(
    "norms", tolerance=tolerance, features=features, formula=formula, parts=parts, usual_names=lambda: _USUAL_NAMES
)
