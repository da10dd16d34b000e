"""Attention as the harness judges it."""

from __future__ import annotations

import math
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from attnspec.base.extensions import import_object
from attnspec.contract.layout import layout_name
from attnspec.families.attention.alternatives import computed_under, expected, handed, without_keys
from attnspec.families.attention.case_features import features, needs
from attnspec.families.attention.directions import directions, scale_of
from attnspec.families.attention.key_sets import attendable_keys, is_probe, key_sets
from attnspec.families.record import Family

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from numpy.typing import NDArray

    from attnspec.cases import Case
    from attnspec.contract.arrangement import Layout
    from attnspec.families.record import Marks

_HERE = "attnspec.families.attention"
_OF_QUERIES = (
    *("scaled_dot_product_attention", "scaled_dot_product_attention_backward"),
    *("single_head_attention", "multi_head_attention", "context_vector"),
)
_UNSTATED = {
    **{operation: {"scale": "query.shape[-1] ** -0.5"} for operation in _OF_QUERIES},
    "latent_attention": {"scale": "(query_content.shape[-1] + query_rotary.shape[-1]) ** -0.5"},
}
"""Operation to its scale where a case states none."""

_SCALES = ("query_scale", "key_scale", "value_scale")


def _also_right(operation: str, output: str, given: NDArray[Any], expected: NDArray[Any]) -> NDArray[np.bool_] | None:
    of_infinite_values = ("scaled_dot_product_attention", "merge_states", "absorbed_latent_attention")
    if operation not in of_infinite_values or output not in ("output", "output_latent"):
        return None
    # An infinite output comes from infinite values. Weighed in parts that are merged, it is infinity minus infinity;
    # so it is where one part is moved towards the other.
    return np.isnan(given) & np.isinf(expected)


def _has_equal_scores(case: Case) -> bool:
    """Return whether the scores of a case are all 0: many mistakes cannot be seen."""
    names = () if case.generated else ("query", "query_content", "query_latent", "query_rotary")
    queries = [case.inputs[name] for name in names if name in case.inputs]
    return bool(queries) and not any(map(np.any, queries))


def _unstated_scale(case: Case, _: str) -> float | None:
    """Return 1/sqrt(E) of the features of a query; None where a query has no axes."""
    shapes = case.shapes
    if "query_content" in shapes:
        return scale_of(case.operation, shapes, case.attributes) if shapes["query_content"] else None
    query = next((shapes[name] for name in ("w_query", "query", "decoder_state") if name in shapes), ())
    width = query[-1] // case.attributes.get("num_heads", 1) if query else 0
    return 1 / math.sqrt(width) if width else 1.0 if query else None


def _layouts() -> Mapping[str, Layout]:
    from attnspec.families.attention.layouts.arranged import LAYOUTS

    return LAYOUTS


def _entered_in_layout(case: Case, layout: str, conventions: Mapping[str, str]) -> Marks:
    if conventions["masked_nonfinite"] != "propagates" or layout_name(layout) != "packed" or case.generated:
        return {}
    from attnspec.families.attention.layouts.sequences import entered_by_other_sequences

    return entered_by_other_sequences(case.inputs)


def _imported_when_called(path: str) -> Callable[..., Any]:
    """Return a function that is imported when it is called, for most runs never need it."""

    def late(*arguments: Any) -> Any:
        return import_object(path)(*arguments)

    return late


def _usual_names() -> Mapping[str, Sequence[str]]:
    return tomllib.loads(Path(__file__).with_name("usual_names.toml").read_text("utf-8"))


FAMILY = Family(
    "attention",
    tolerance=_imported_when_called(f"{_HERE}.tolerance.tolerances:tolerance"),
    sampled_tolerance=_imported_when_called(f"{_HERE}.tolerance.sampled:sampled_tolerance"),
    features=features,
    formula=_imported_when_called(f"{_HERE}.formulas:formula"),
    expected=expected,
    handed=handed,
    computed_under=computed_under,
    empty=without_keys,
    also_right=_also_right,
    lacks_property=_imported_when_called(f"{_HERE}.weight_initialisation:lacks_property"),
    parts=_imported_when_called(f"{_HERE}.parts:parts"),
    steps=_imported_when_called(f"{_HERE}.decoding:steps"),
    changes_tolerance={"alibi_bias": ("alibi_slopes",), "dequantized": _SCALES, "quantized_weights": _SCALES},
    needs=needs,
    layouts=_layouts,
    entered_in_layout=_entered_in_layout,
    key_sets=key_sets,
    attendable=attendable_keys,
    attended_axis="key",
    is_probe=is_probe,
    shows_little=_has_equal_scores,
    usual_names=_usual_names,
    directions=directions,
    unstated=_UNSTATED,
    unstated_value=_unstated_scale,
    nonfinite_profiles=("nonfinite",),
    least_telling_profiles=("nonfinite", "memory"),
)
