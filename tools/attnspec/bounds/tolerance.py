"""The tolerance of every output of a case, element by element.

There is one model and no hand-set number: a bound that runs through the phases of the operation, from the unit
roundoffs of the dtype and the case's own values. Each family has its own, made of :mod:`.estimates`.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from attnspec.bounds.estimates import Estimate

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

Known = TypeVar("Known")


class Tolerance:
    """Values and tolerances of the outputs of one case, each computed when it is asked for.

    Parameters
    ----------
    estimates
        Output name to what gives its float64 value and, as the error, its tolerance.
    ungraded
        Output name to what gives the elements that are not graded: those whose tolerance says nothing, and those
        that nobody owes.
    by_convention
        Output name to the elements that a convention decides, which has alternatives to what the estimates give.
    """

    def __init__(
        self,
        estimates: Mapping[str, Callable[[], Estimate]],
        ungraded: Mapping[str, Callable[[], NDArray[np.bool_]]] | None = None,
        by_convention: Mapping[str, NDArray[np.bool_]] | None = None,
    ) -> None:
        self._estimates = estimates
        self._ungraded = ungraded or {}
        self._known: dict[str, Estimate] = {}
        self.by_convention: Mapping[str, NDArray[np.bool_]] = by_convention or {}

    def of(self, output: str, run: int = 0) -> Estimate:
        """Return value and tolerance of one output in one of the runs; every tolerance is finite."""
        estimate = self._known.get(output)
        if estimate is None:
            with np.errstate(all="ignore"):
                estimate = self._known[output] = self._estimates[output]()
        return Estimate(estimate.value, _of_run(estimate.error, run, estimate.value.ndim))

    def ungraded(self, output: str, run: int = 0) -> NDArray[np.bool_] | None:
        """Return which elements of an output are not graded in a run, or None for none."""
        if output not in self._ungraded:
            return None
        rank = self.of(output).value.ndim
        return _of_run(self._ungraded[output](), run, rank)


def _of_run(errors: NDArray[Any], run: int, rank: int) -> NDArray[Any]:
    """Return what belongs to one run; errors of the tensor's own rank are shared by all."""
    return errors if errors.ndim == rank else errors[run]


def given(**estimates: Estimate) -> dict[str, Callable[[], Estimate]]:
    """Return estimates that are known already in the form in which they are asked for."""
    return {name: partial(identity, estimate) for name, estimate in estimates.items()}


def identity(known: Known) -> Known:
    """Return what is known."""
    return known
