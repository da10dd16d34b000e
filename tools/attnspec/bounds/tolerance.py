"""The tolerance of every output of a case, element by element.

There is one model and no hand-set number: a bound that runs through the phases of the operation, from the unit
roundoffs of the dtype and the case's own values. Each family has its own, made of :mod:`.estimates`.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from attnspec.bounds.estimates import Estimate, Reach

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

Known = TypeVar("Known")


class Elsewhere(NamedTuple):
    """What is known of the elements of an output that are not sampled.

    Attributes
    ----------
    lowest, highest
        Between which numbers they lie, in a shape that broadcasts to that of the whole output.
    left_open
        Which of them may hold anything (same).
    """

    lowest: NDArray[Any]
    highest: NDArray[Any]
    left_open: NDArray[np.bool_]


class Tolerance:
    """Values and tolerances of the outputs of one case, each computed when it is asked for.

    Parameters
    ----------
    estimates
        Output name to what gives its float64 value and, as the error, its tolerance.
    vacuous
        Output name to what gives the elements whose tolerance says nothing. They are held to their reach alone.
    by_convention
        Output name to the elements that a convention decides, which has alternatives to what the estimates give.
    unowed
        Output name to the elements that nobody owes, which may hold anything.
    reach
        Output name to what gives the reach of its elements; without one they need only be finite.

    Attributes
    ----------
    place_of_values
        The run whose error the values carry that answers are held against, which joins every tolerance; None where
        they are certified.
    """

    def __init__(
        self,
        estimates: Mapping[str, Callable[[], Estimate]],
        vacuous: Mapping[str, Callable[[], NDArray[np.bool_]]] | None = None,
        by_convention: Mapping[str, NDArray[np.bool_]] | None = None,
        *,
        unowed: Mapping[str, NDArray[np.bool_]] | None = None,
        reach: Mapping[str, Callable[[], Reach]] | None = None,
    ) -> None:
        self._estimates = estimates
        self._vacuous = vacuous or {}
        self._reach = reach or {}
        self._known: dict[str, Estimate] = {}
        self.by_convention: Mapping[str, NDArray[np.bool_]] = by_convention or {}
        self.unowed: Mapping[str, NDArray[np.bool_]] = unowed or {}
        self.place_of_values: int | None = None

    def of(self, output: str, run: int = 0) -> Estimate:
        """Return value and tolerance of one output in one of the runs; every tolerance is finite."""
        estimate = self._known.get(output)
        if estimate is None:
            with np.errstate(all="ignore"):
                estimate = self._known[output] = self._estimates[output]()
        error = _of_run(estimate.error, run, estimate.value.ndim)
        if self.place_of_values is not None:
            error = error + _of_run(estimate.error, self.place_of_values, estimate.value.ndim)
        return Estimate(estimate.value, error)

    def vacuous(self, output: str, run: int = 0) -> NDArray[np.bool_] | None:
        """Return the elements of an output whose tolerance in a run says nothing, or None for none."""
        if output not in self._vacuous:
            return None
        rank = self.of(output).value.ndim
        return _of_run(self._vacuous[output](), run, rank)

    def ungraded(self, output: str, run: int = 0) -> NDArray[np.bool_] | None:
        """Return the elements of an output that are vacuous in a run or owed by nobody, or None for none."""
        vacuous, unowed = self.vacuous(output, run), self.unowed.get(output)
        if vacuous is None or unowed is None:
            return unowed if vacuous is None else vacuous
        return vacuous | unowed

    def elsewhere(self, output: str, run: int = 0) -> Elsewhere | None:
        """Return between which numbers the elements of an output lie in a run that are not sampled; None where all are.

        A bound of sampled elements knows it, whose estimates are of the sample alone (N,).
        """
        del output, run

    def reach(self, output: str, run: int = 0) -> Reach | None:
        """Return between which numbers the elements of an output lie in a run, or None where they have no bounds."""
        if output not in self._reach:
            return None
        rank = self.of(output).value.ndim
        with np.errstate(all="ignore"):
            lowest, highest = self._reach[output]()
        return Reach(_of_run(lowest, run, rank), _of_run(highest, run, rank))


def _of_run(errors: NDArray[Any], run: int, rank: int) -> NDArray[Any]:
    """Return what belongs to one run; errors of the tensor's own rank are shared by all."""
    return errors if errors.ndim == rank else errors[run]


def given(**estimates: Estimate) -> dict[str, Callable[[], Estimate]]:
    """Return estimates that are known already in the form in which they are asked for."""
    return {name: partial(identity, estimate) for name, estimate in estimates.items()}


def identity(known: Known) -> Known:
    """Return what is known."""
    return known
