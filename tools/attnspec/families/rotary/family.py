"""Rotary positions as the harness judges them, and the features of their cases, by which failures are sorted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from attnspec.families.record import Family
from attnspec.families.rotary.formulas import formula
from attnspec.families.rotary.tolerances import expected, tolerance

if TYPE_CHECKING:
    from collections.abc import Mapping

    from attnspec.cases import Case
    from attnspec.contract.arrangement import Layout


_SCALINGS = ("linear", "dynamic", "llama3", "longrope", "proportional", "yarn")
_FAR = (255, 4094, 32767, 65535)
_AXES = 4
"""Batch, heads, tokens and features, counted from the end: a tensor that is to be refused may lack the first ones."""


def features(case: Case) -> list[tuple[str, bool]]:
    """Return what a case has, each as the rest of a sentence that begins with "The case has", and whether it does."""
    return _BY_OPERATION[case.operation](case)


def turns_nothing(case: Case) -> bool:
    """Return whether tokens all stand at position 0, or are turned by no angle: most mistakes cannot be seen."""
    positions, sines = case.inputs.get("position_ids"), case.inputs.get("sin")
    still = [array for array in (positions, sines) if array is not None]
    return any(not np.any(array) for array in still)


def _features_of_frequencies(case: Case) -> list[tuple[str, bool]]:
    attributes = case.attributes
    scaling, original = attributes.get("scaling", "none"), attributes.get("original_length")
    length = attributes.get("sequence_length")
    beyond = None if original is None or length is None else length - original
    coefficients = [attributes.get(f"magnitude_scaling{suffix}") for suffix in ("", "_all_dimensions")]
    return [
        ("no scaling", scaling == "none"),
        *((f"the scaling {name}", scaling == name) for name in _SCALINGS),
        ("a stated theta", "theta" in attributes),
        ("a stated attention factor", attributes.get("attention_factor") is not None),
        ("a text longer than the original length", beyond is not None and beyond > 0),
        ("a text of exactly the original length", beyond == 0),
        ("a text shorter than the original length", beyond is not None and beyond < 0),
        ("no stated length of the text", length is None),
        ("a range that is not truncated", attributes.get("truncate") is False),
        ("other numbers of turns than 32 and 1", "beta_fast" in attributes or "beta_slow" in attributes),
        ("both magnitude coefficients", all(coefficients)),
        ("a single magnitude coefficient", any(coefficients) and not all(coefficients)),
        ("a factor of 1", attributes.get("factor") == 1),
        ("more than 64 features", attributes["width"] > 64),
    ]


def _features_of_tables(case: Case) -> list[tuple[str, bool]]:
    positions = case.inputs["position_ids"]
    return [
        ("a stated attention factor", "attention_factor" in case.attributes),
        ("more than one batch entry", positions.ndim > 1 and positions.shape[0] > 1),
        ("positions in another order than 0, 1, 2", any(row != list(range(len(row))) for row in _rows(positions))),
        ("a position that occurs twice", any(len(set(row)) < len(row) for row in _rows(positions))),
        ("batch entries with different positions", positions.ndim > 1 and bool(np.any(positions != positions[:1]))),
        *((f"a position beyond {far}", bool(np.any(positions > far))) for far in _FAR),
    ]


def _features_of_rotation(case: Case) -> list[tuple[str, bool]]:
    x, cos = case.inputs["x"], case.inputs["cos"]
    features_of_head, turned = x.shape[-1], 2 * cos.shape[-1]
    return [
        ("interleaved pairs", case.attributes.get("pairing") == "interleaved"),
        ("no stated pairing", "pairing" not in case.attributes),
        ("features that are not rotated", features_of_head > turned),
        ("an odd number of features", features_of_head % 2 == 1),
        ("more than one head", x.ndim > 1 and x.shape[1] > 1),
        ("more than one batch entry", x.shape[0] > 1),
        ("a single pair", turned == 2),
        ("an input in another memory layout", bool(case.memory_order)),
        ("NaN or infinity among the inputs", _has_nonfinite(x)),
    ]


def needs(case: Case) -> frozenset[str]:
    """Return the contract's capabilities that a case of rotary positions needs; one to be refused may have no axes."""
    if case.operation != "apply_rotary":
        return frozenset()
    # An axis that is missing is of no length at all, which is no empty one.
    x, cos = ((-1,) * _AXES + case.inputs[name].shape for name in ("x", "cos"))
    batch, heads, tokens, features = x[-_AXES:]
    found = {
        "partial_rotation": features > 2 * max(cos[-1], 0),
        "empty_batch": batch == 0,
        "empty_heads": heads == 0,
        "empty_queries": tokens == 0,
    }
    return frozenset(word for word, is_needed in found.items() if is_needed)


def _also_right(operation: str, _: str, given: NDArray[Any], expected: NDArray[Any]) -> NDArray[np.bool_] | None:
    # A product of complex numbers may make NaN of an infinite part: 0 times infinity.
    return np.isnan(given) & np.isinf(expected) if operation == "apply_rotary" else None


def _has_nonfinite(array: NDArray[Any]) -> bool:
    return not bool(np.isfinite(array).all())


def _rows(positions: NDArray[Any]) -> list[list[int]]:
    """Return the positions of each batch entry; a refused case may hold more axes than two, or none."""
    rows = np.atleast_2d(positions)
    return rows.reshape(-1, rows.shape[-1]).tolist()


def _layouts() -> Mapping[str, Layout]:
    from attnspec.families.rotary.layouts import LAYOUTS

    return LAYOUTS


_BY_OPERATION = {
    "rotary_frequencies": _features_of_frequencies,
    "rotary_tables": _features_of_tables,
    "apply_rotary": _features_of_rotation,
}

FAMILY = Family(
    "rotary",
    tolerance=tolerance,
    features=features,
    formula=formula,
    expected=expected,
    also_right=_also_right,
    needs=needs,
    shows_little=turns_nothing,
    layouts=_layouts,
)
