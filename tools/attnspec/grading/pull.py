"""Pull of a result: what its errors, each within its tolerance, say together of factors that are off for all elements.

A rounding scatters; a factor that is off moves every element as its derivative says. So the errors of a result are
fitted to the derivatives, in units of the tolerance. Its sums are kept here, and those of a run fitted together
elsewhere, for one result alone says little.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from attnspec.cases import run_attributes
from attnspec.contract.dtypes import REFERENCE_DTYPE
from attnspec.grading.elements import left_open
from attnspec.grading.expectation import Values, reference_outputs

if TYPE_CHECKING:
    from attnspec.families.record import Arrays, Direction
    from attnspec.grading.expectation import Run


Pull: TypeAlias = tuple[float, ...]
"""Sums over the elements of a result, for the directions of its operation in their order.

First the products of the derivatives (the upper triangle, row by row), then the moments of derivatives and errors, both
in units of the tolerance. A plain tuple is written into a journal in a tenth of the time.
"""


def pull_of(run: Run, got: Mapping[str, NDArray[Any]]) -> Pull | None:
    """Return the pull of a right answer; None where its operation has no directions, or no element speaks."""
    directions = run.family.directions(run.operation.name)
    expected = run.expected
    if not directions or not isinstance(expected, Values) or run.bound is None or run.case.thinned:
        return None
    slopes = _slopes(run, directions)
    products, moments, speaks = np.zeros((len(directions),) * 2), np.zeros(len(directions)), False
    for name in directions[0].outputs:
        wanted, given = expected.outputs.get(name), got.get(name)
        if wanted is None or given is None:
            continue
        derivatives = [slopes[each.name].get(name) if each.derivatives else wanted for each in directions]
        if any(each is None for each in derivatives):
            continue
        tolerance = run.bound.error(name, run.bound_index)
        errors = (given.astype(np.float64) - wanted) / tolerance
        # An element of tolerance 0 is right or wrong, and says nothing of how far off it is.
        rows = np.array([each / tolerance for each in derivatives]).reshape(len(directions), -1)
        open_elements = left_open(run, expected, name)
        silent = ~np.isfinite(errors).reshape(-1) | ~np.isfinite(rows).all(axis=0)
        if open_elements is not None:
            silent |= np.broadcast_to(open_elements, wanted.shape).reshape(-1)
        if silent.any():
            errors, rows = errors.reshape(-1)[~silent], rows[:, ~silent]
        # Elements that an interval alone bounds may lie further off than their tolerance.
        errors = np.clip(errors.reshape(-1), -1, 1)
        products += rows @ rows.T
        moments += rows @ errors
        speaks = speaks or errors.size > 0
    if not speaks:
        return None
    return (*products[np.triu_indices(len(directions))].tolist(), *moments.tolist())


def computed_slopes(run: Run) -> dict[str, Arrays]:
    """Return the derivatives of a run's outputs, by direction, from the reference; none where it refuses the call."""

    def compute(inputs: Arrays, attributes: Mapping[str, Any]) -> Arrays:
        return reference_outputs(run.operation.name, inputs, attributes)

    found: dict[str, Arrays] = {}
    attributes = run_attributes(REFERENCE_DTYPE, run.case.attributes)
    for direction in run.family.directions(run.operation.name):
        if direction.derivatives is not None:
            try:
                slopes = direction.derivatives(compute, run.operation.name, run.case.inputs, attributes)
            except ValueError:
                slopes = {}
            found[direction.name] = {name: slopes[name] for name in direction.outputs if name in slopes}
    return found


def _slopes(run: Run, directions: tuple[Direction, ...]) -> Mapping[str, Arrays]:
    """Return the derivatives of a run's outputs, by direction: as stored, where these are the case's, or computed."""
    stored = run.case.stored_tolerances
    if stored is None or not stored.belong_to(run.case.parts):
        return computed_slopes(run)
    return {
        each.name: {name: slope for name in each.outputs if (slope := stored.slope(each.name, name)) is not None}
        for each in directions
        if each.derivatives is not None
    }
