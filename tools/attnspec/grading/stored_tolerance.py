"""Tolerance of a case whose error bounds are stored: read where they are enough, computed where more is needed."""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from attnspec.bounds.tolerance import Estimate, Interval, Tolerance
from attnspec.cases.stored_tolerances import Ends, Grade, StoredTolerances


class StoredTolerance(Tolerance):
    """Tolerances of a case in some grades, as stored; `compute` gives what the model says of these grades."""

    def __init__(self, stored: StoredTolerances, grades: Sequence[Grade], compute: Callable[[], Tolerance]) -> None:
        super().__init__({}, by_convention=stored.marks("by_convention"), unspecified=stored.marks("unspecified"))
        self._stored = stored
        self._grades = grades
        self._compute = compute

    @cached_property
    def modelled(self) -> Tolerance:
        """The tolerances as they are computed, with all that the model knows beside them."""
        return self._compute()

    def error(self, output: str, run: int = 0) -> NDArray[np.float64]:
        """Return the tolerance of each element of an output in one of the grades."""
        return self._stored.error(output, self._grades[run])

    def of(self, output: str, run: int = 0) -> Estimate:
        """Return value and tolerance of one output in one of the grades."""
        if output not in self._stored.entry["outputs"]:
            return self.modelled.of(output, run)
        return Estimate(self.modelled.of(output, run).value, self.error(output, run))

    def ends(self, output: str, run: int = 0) -> Ends | None:
        """Return the elements of an output that an interval alone bounds in a grade, and its ends; None for none."""
        return self._stored.ends(output, self._grades[run])

    def vacuous(self, output: str, run: int = 0) -> NDArray[np.bool_] | None:
        """Return the elements of an output whose tolerance says nothing in a grade, or None for none."""
        return self.modelled.vacuous(output, run)

    def interval(self, output: str, run: int = 0) -> Interval | None:
        """Return the interval of the elements of an output in a grade, or None where they have no bounds."""
        return self.modelled.interval(output, run)

    def left_open(self, run: int = 0) -> Mapping[str, NDArray[np.bool_]]:
        """Return the elements that the normative conventions leave open in a grade, by output."""
        return self._stored.marks("left_open", self._grades[run])
