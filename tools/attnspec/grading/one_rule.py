"""One rule that a test in any language can hold: ``|got - expected| <= tolerance``, for each element.

NaN stands for NaN, and infinities are equal to themselves; an infinite tolerance passes any value, NaN among them. The
rule passes all that `grade` passes; where it cannot express what `grade` holds an element to, it is wider.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from attnspec.contract.dtypes import ANY, LARGEST
from attnspec.grading.elements import in_interval, left_open, may_be_infinite
from attnspec.grading.expectation import Run, Values

_LARGEST = LARGEST["float64"]
"""The tolerance of an element that need only be finite."""

_SPECIAL = (np.nan, np.inf, -np.inf)


class Bounded(NamedTuple):
    """Expected values and tolerances of one output under the rule, always in float64; truth values are 0 and 1.

    Values are 0 where the case says nothing about an element, tolerances infinite where it may hold anything.
    """

    expected: NDArray[np.float64]
    tolerance: NDArray[np.float64]


def bounded_outputs(run: Run) -> Mapping[str, Bounded]:
    """Return the values and tolerances of each output of a run; nothing for a run that expects no values.

    In half precision, the tolerances are those of the grade that a pass needs.
    """
    if not isinstance(run.expected, Values):
        return {}
    with np.errstate(all="ignore"):
        return {name: _bounded_output(run, run.expected, name) for name in run.expected.outputs}


def keeps_the_rule(got: NDArray[Any], bounded: Bounded) -> bool:
    """Return whether all elements of an output are right, by the rule."""
    if got.shape != bounded.expected.shape:
        return False
    wide = got.astype(np.float64)
    with np.errstate(all="ignore"):
        within = np.abs(wide - bounded.expected) <= bounded.tolerance
    same = (wide == bounded.expected) | (np.isnan(wide) & np.isnan(bounded.expected))
    return bool((within | same | np.isinf(bounded.tolerance)).all())


def _bounded_output(run: Run, expected: Values, name: str) -> Bounded:
    assert run.bound is not None
    expected_output = expected.outputs[name].astype(np.float64)
    tolerance = np.zeros(expected_output.shape)
    if not run.operation.outputs_by_name[name].exact:
        tolerance += run.bound.error(name, run.bound_index)
    tolerance[~np.isfinite(expected_output)] = 0.0
    to_interval = in_interval(run, expected, name, run.bound_index)
    if to_interval is not None:
        widest = np.maximum(expected_output - to_interval.lowest, to_interval.highest - expected_output)
        tolerance = np.where(to_interval.elements, np.fmin(widest, _LARGEST), tolerance)
    anything = _also_right_elements(run, name, expected_output)
    if run.dtype not in (ANY, "float64"):
        # Infinity stands, too, for the numbers that the dtype of the run cannot hold.
        anything |= np.isfinite(expected_output) & may_be_infinite(expected_output, run.dtype, tolerance)
    open_elements = left_open(run, expected, name)
    if open_elements is not None:
        anything |= open_elements
    sample = expected.sample.get(name)
    if sample is not None and name not in expected.thinned:
        unknown = np.ones(expected_output.shape, np.bool_)
        unknown.flat[sample] = False
        expected_output[unknown] = 0.0
        anything |= unknown
    tolerance[anything] = np.inf
    return Bounded(expected_output, tolerance)


def _also_right_elements(run: Run, name: str, expected: NDArray[Any]) -> NDArray[np.bool_]:
    """Return the elements for which the family also takes a NaN or an infinity that is not the expected value."""
    found = np.zeros(expected.shape, np.bool_)
    for special in _SPECIAL:
        also = run.family.also_right(run.operation.name, name, np.full(expected.shape, special), expected)
        if also is not None:
            found |= also
    return found
