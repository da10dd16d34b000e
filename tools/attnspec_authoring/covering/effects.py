"""Whether every feature of a case shows: switched off, it must change the result by many tolerances."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

import attnspec_reference as reference
from attnspec.bounds import precision_of
from attnspec.contract import OPERATIONS
from attnspec.contract.conventions import resolve
from attnspec.contract.dtypes import rounded_to
from attnspec.families.lookup import family_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from attnspec_authoring.recipes.authoring import AuthoredCase

Call: TypeAlias = "tuple[Mapping[str, NDArray[Any]], Mapping[str, Any]]"
"""Inputs and attributes."""

MANY: Mapping[str, float] = {"float64": 100.0, "float32": 20.0}
"""Dtype to how many tolerances lie between a case and the case without one of its features.

Half precision is told apart by the same cases, but by fewer tolerances.
"""


def idle_features(case: AuthoredCase, without: Mapping[str, Call]) -> list[str]:
    """Return the features of a case that do not show; `without` has the call in which each is switched off."""
    found: list[str] = []
    for dtype, many in MANY.items():
        inputs = {name: rounded_to(array, dtype) for name, array in case.inputs.items()}
        family = family_of(case.operation)
        with np.errstate(all="ignore"):
            bound = family.tolerance(
                case.operation, inputs, case.attributes, precision_of(dtype), resolve({}, case.operation)
            )
            output = OPERATIONS[case.operation].outputs[0]
            estimate, open_elements = bound.of(output), bound.ungraded(output)
            graded = np.ones(estimate.value.shape, np.bool_) if open_elements is None else ~open_elements
            if output in case.sample:
                stored = np.zeros(graded.size, np.bool_)
                stored[list(case.sample[output])] = True
                graded = graded & stored.reshape(graded.shape)
            for name, call in without.items():
                other = _result(case.operation, call)
                if other.shape == estimate.value.shape:
                    beyond = np.abs(other - estimate.value) > many * estimate.error
                    if not (beyond & graded).any():
                        found.append(f"{name} in {dtype}")
    return found


def _result(operation: str, call: Call) -> NDArray[Any]:
    """Return the first output of the reference."""
    inputs, attributes = call
    result: Any = getattr(reference, operation)(**inputs, **attributes)
    # A named tuple of outputs, or the only output.
    return np.asarray(getattr(result, OPERATIONS[operation].outputs[0], result))
