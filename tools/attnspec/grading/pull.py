"""Pull of a result: what its errors, each within its tolerance, say together of factors that are off for all elements.

A rounding scatters; a factor that is off moves every element as its derivative says. So the errors of a result are
fitted to the derivatives, in units of the tolerance. Its sums are kept here, and those of a run fitted together
elsewhere, for one result alone says little.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import add
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from attnspec.cases import run_attributes
from attnspec.contract.dtypes import REFERENCE_DTYPE
from attnspec.grading.elements import left_open
from attnspec.grading.expectation import Values, reference_outputs

if TYPE_CHECKING:
    from attnspec.bounds.tolerance import Tolerance
    from attnspec.cases.stored_tolerances import StoredTolerances
    from attnspec.families.record import Arrays, Direction
    from attnspec.grading.expectation import Run


Pull: TypeAlias = tuple[float, ...]
"""Sums over the elements of a result, for the directions of its operation in their order.

First the products of the derivatives (the upper triangle, row by row), then the moments of derivatives and errors, both
in units of the tolerance. A plain tuple is written into a journal in a tenth of the time.
"""


_LAST_DIGITS = 1e-12
"""What is this small beside the largest number of a result may be rounding alone."""

_CURVED = 0.1
"""Share of what is taken away by which an element may be off: so far an element with a derivative may leave a line."""


def is_met_without(run: Run, got: Mapping[str, NDArray[Any]], deviations: Sequence[float]) -> bool:
    """Return whether outputs are within their tolerance once factors that are off so far are taken away.

    `deviations` from 1, for the directions of the operation in their order. Elements of which no derivative is known
    count as they are.
    """
    directions = run.family.directions(run.operation.name)
    if not directions or not isinstance(run.expected, Values) or run.bound is None:
        return False
    elements = _Elements([], [[] for _ in directions], [], [], [])
    with np.errstate(all="ignore"):
        _add(elements, 0, run, run.expected, run.bound, got, directions)
        if not elements.numbers:
            return False
        wanted, given, tolerance = map(_joined, (elements.wanted, elements.given, elements.tolerance))
        rows = [_joined(slopes) if slopes else wanted for slopes in elements.slopes]
        moved = sum(deviation * row for deviation, row in zip(deviations, rows, strict=True))
        moved, errors = np.nan_to_num(moved / tolerance), (given - wanted) / tolerance
    met = np.abs(errors - moved) <= 1 + _CURVED * np.abs(moved)
    return bool(np.all(met, where=np.isfinite(errors)))


class _Elements(NamedTuple):
    """Elements of outputs, one array after the other, and the answers to which these belong.

    `slopes` has a list of arrays for each direction, which is empty where the derivatives are the expected values.
    """

    numbers: list[int]
    slopes: list[list[NDArray[Any]]]
    wanted: list[NDArray[Any]]
    given: list[NDArray[Any]]
    tolerance: list[NDArray[Any]]


def pulls_of(answers: Sequence[tuple[Run, Mapping[str, NDArray[Any]]]]) -> list[Pull | None]:
    """Return the pulls of right answers; None where an operation has no directions, or no element speaks.

    Of a thinned case, an answer holds the sampled elements alone.
    The sums of many small answers are computed together, which takes a fifth of the time.
    """
    by_directions: dict[tuple[Direction, ...], _Elements] = {}
    for number, (run, got) in enumerate(answers):
        directions = run.family.directions(run.operation.name)
        if directions and isinstance(run.expected, Values) and run.bound is not None:
            if directions not in by_directions:
                by_directions[directions] = _Elements([], [[] for _ in directions], [], [], [])
            _add(by_directions[directions], number, run, run.expected, run.bound, got, directions)
    found: list[Pull | None] = [None] * len(answers)
    for elements in by_directions.values():
        if elements.numbers:
            with np.errstate(all="ignore"):
                sums = _sums(elements)
            for number, pull in sums.items():
                found[number] = pull if any(pull) else None
    return found


def _add(
    elements: _Elements,
    number: int,
    run: Run,
    expected: Values,
    bound: Tolerance,
    got: Mapping[str, NDArray[Any]],
    directions: tuple[Direction, ...],
) -> None:
    """Add the elements of each output of an answer in which its directions show."""
    stored = run.case.stored_tolerances
    computed = None if stored is not None and stored.belong_to(run.case.parts) else computed_slopes(run)
    for name in directions[0].outputs:
        wanted, given = expected.outputs.get(name), got.get(name)
        if wanted is None or given is None or not given.size:
            continue
        slopes = [each.derivatives and _slope(stored, computed, each.name, name) for each in directions]
        if any(each.derivatives and slope is None for each, slope in zip(directions, slopes, strict=True)):
            continue
        open_elements = left_open(run, expected, name)
        if open_elements is not None:
            wanted = np.where(open_elements, np.nan, wanted)
        elements.numbers.append(number)
        for of_all, slope in zip(elements.slopes, slopes, strict=True):
            if slope is not None:
                of_all.append(slope)
        elements.wanted.append(wanted)
        elements.given.append(given)
        tolerance = bound.error(name, run.bound_index)
        # A model may give one tolerance for many elements.
        is_whole = tolerance.shape == wanted.shape
        elements.tolerance.append(tolerance if is_whole else np.broadcast_to(tolerance, wanted.shape))


def _joined(arrays: list[NDArray[Any]]) -> NDArray[np.float64]:
    """Return the numbers of all arrays, one after the other."""
    return np.concatenate(arrays, axis=None, dtype=np.float64, casting="unsafe")


def _sums(elements: _Elements) -> dict[int, Pull]:
    """Return the pull of each answer by its number."""
    wanted, given, tolerance = map(_joined, (elements.wanted, elements.given, elements.tolerance))
    rows = [(_joined(slopes) if slopes else wanted) / tolerance for slopes in elements.slopes]
    errors = (given - wanted) / tolerance
    # Silent are NaN and infinity, and what has no tolerance, which is right or wrong and by no factor.
    silent = ~np.isfinite(np.sum([*rows, errors], axis=0))
    # Elements that an interval alone bounds may lie further off than their tolerance.
    columns = [np.where(silent, 0.0, row) for row in (*rows, np.clip(errors, -1, 1))]
    starts = np.cumsum([0, *(array.size for array in elements.wanted)])[:-1]
    pairs = [(one, other) for one in range(len(rows)) for other in range(one, len(rows))]
    pairs += [(one, len(rows)) for one in range(len(rows))]
    sums = [np.add.reduceat(columns[one] * columns[other], starts).tolist() for one, other in pairs]
    found: dict[int, Pull] = {}
    for number, *pull in zip(elements.numbers, *sums, strict=True):
        before = found.get(number)
        found[number] = tuple(pull) if before is None else tuple(map(add, before, pull))
    return found


def computed_slopes(run: Run) -> dict[str, Arrays]:
    """Return the derivatives of a run's outputs, by direction, from the reference; none where it refuses the call.

    Of a thinned case those of the sampled elements, as the family's model has them.
    """
    operation, case = run.operation.name, run.case

    def compute(attributes: Mapping[str, Any]) -> Arrays:
        return _without_last_digits(run, reference_outputs(operation, case.inputs, attributes))

    found: dict[str, Arrays] = {}
    attributes = run_attributes(REFERENCE_DTYPE, case.attributes)
    for direction in run.family.directions(run.operation.name):
        if direction.derivatives is not None:
            if case.thinned:
                found[direction.name] = {} if run.bound is None else run.bound.sampled_slopes.get(direction.name, {})
                continue
            try:
                slopes = direction.derivatives(compute, operation, case.shapes, attributes)
            except ValueError:
                slopes = {}
            found[direction.name] = {name: slopes[name] for name in direction.outputs if name in slopes}
    return found


def _without_last_digits(run: Run, outputs: Arrays) -> Arrays:
    """Return outputs with 0 for what is left of a sum that is 0: last digits, in which processors differ."""
    if not isinstance(run.expected, Values):
        return outputs
    sizes = (np.max(np.abs(array), initial=0.0, where=np.isfinite(array)) for array in outputs.values())
    least = _LAST_DIGITS * max(sizes, default=0.0)
    expected = run.expected.outputs
    return {
        name: np.where((expected[name] == 0) & (np.abs(array) <= least), 0.0, array) if name in expected else array
        for name, array in outputs.items()
    }


def _slope(
    stored: StoredTolerances | None, computed: Mapping[str, Arrays] | None, direction: str, output: str
) -> NDArray[np.float64] | None:
    """Return the derivatives of an output in a direction: those computed, or else as stored; None for none."""
    if computed is not None:
        return computed.get(direction, {}).get(output)
    return None if stored is None else stored.slope(direction, output)
