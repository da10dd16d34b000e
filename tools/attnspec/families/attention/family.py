"""Attention as the harness judges it."""

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnspec.cases import Case
from attnspec.families.attention.alternatives import computed_under, expected, handed, without_keys
from attnspec.families.attention.case_features import features, needs
from attnspec.families.attention.formulas import formula
from attnspec.families.attention.key_sets import attendable_keys, is_probe, key_sets
from attnspec.families.attention.layouts.arranged import LAYOUTS
from attnspec.families.attention.tolerance.sampled import sampled_tolerance
from attnspec.families.attention.tolerance.tolerances import tolerance
from attnspec.families.attention.weight_initialisation import lacks_property
from attnspec.families.record import Family


def _also_right(operation: str, output: str, given: NDArray[Any], expected: NDArray[Any]) -> NDArray[np.bool_] | None:
    if operation not in ("scaled_dot_product_attention", "merge_states") or output != "output":
        return None
    # An infinite output comes from infinite values. Weighed in parts that are merged, it is infinity minus infinity;
    # so it is where one part is moved towards the other.
    return np.isnan(given) & np.isinf(expected)


def _has_equal_scores(case: Case) -> bool:
    """Return whether the scores of a case are all 0: many mistakes cannot be seen."""
    query = None if case.generated else case.inputs.get("query")
    return query is not None and not np.any(query)


def _usual_names() -> Mapping[str, Sequence[str]]:
    return tomllib.loads(Path(__file__).with_name("usual_names.toml").read_text("utf-8"))


FAMILY = Family(
    "attention",
    tolerance=tolerance,
    sampled_tolerance=sampled_tolerance,
    features=features,
    formula=formula,
    expected=expected,
    handed=handed,
    computed_under=computed_under,
    empty=without_keys,
    also_right=_also_right,
    lacks_property=lacks_property,
    needs=needs,
    layouts=LAYOUTS,
    key_sets=key_sets,
    attendable=attendable_keys,
    attended_axis="key",
    is_probe=is_probe,
    shows_little=_has_equal_scores,
    usual_names=_usual_names,
    unstated={"scale": "query.shape[-1] ** -0.5"},
    nonfinite_profiles=("nonfinite",),
    least_telling_profiles=("nonfinite", "memory"),
)
