"""What came back in one run, made ready to be held against what a mistake computes.

Numbers agree when they lie as close as two computations of the same thing do: within a few times the tolerance of the
case, or within a few dozen roundings of the largest number of their row, since the tolerance knows the right
computation only and a wrong one has errors of its own size.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from attnspec.adapters.implementation import Outputs
from attnspec.adapters.returned import read_returned
from attnspec.bounds import precision_of
from attnspec.comparison import Held, Values, held, left_open
from attnspec.dtypes import ANY, HALF_PRECISION, to_run_dtype
from attnspec.runner import own_attributes, presented_all

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from attnspec.runner import Result, Run
    from attnspec_mistakes import Mistake

_ROUNDINGS = 64
_ROUNDINGS_IN_HALF_PRECISION = 2
_TOLERANCES = 16
_TOLERANCES_IN_HALF_PRECISION = 2


@dataclass(frozen=True)
class Agreement:
    """How well a mistake reproduces what came back in one run.

    Attributes
    ----------
    matches
        Whether it gives the outputs that matter: the first one where that is wrong; else the first one and those
        that are wrong.
    matches_all
        Whether it gives every output that came back.
    error
        The largest distance from what came back in the outputs that matter, 1 being the most that agrees.
    decided
        False where the numbers differ only in elements that are NaN on one side: NaN takes other ways through two
        programs that make the same mistake.
    """

    matches: bool
    matches_all: bool
    error: float
    decided: bool = True


class Likeness(NamedTuple):
    """How alike a mistake and what came back are in the elements of a run that are wrong.

    Attributes
    ----------
    places
        Elements that are wrong in both, as a share of those that are wrong in either.
    numbers
        Elements that are wrong in both and hold the same number, as a share of those that came back wrong.
    """

    places: float
    numbers: float


@dataclass(frozen=True)
class Evidence:
    """One run that was graded on its values.

    Attributes
    ----------
    result
        The result of the run; it has outputs.
    """

    result: Result

    @property
    def fails(self) -> bool:
        """Whether what came back was wrong."""
        return self.result.is_wrong

    @property
    def first(self) -> str:
        """The first output of the operation, the only one that is owed."""
        return self.result.run.operation.outputs[0]

    @cached_property
    def given(self) -> Mapping[str, NDArray[Any]]:
        """What came back, in float64."""
        assert self.result.got is not None
        return {name: array.astype(np.float64) for name, array in self.result.got.items()}

    @cached_property
    def wrong(self) -> Mapping[str, NDArray[np.bool_]]:
        """Output name to the elements that lie outside their tolerance; an output of the wrong shape is left out."""
        found: dict[str, NDArray[np.bool_]] = {}
        for name, given in self.given.items():
            owed = self._owed(name)
            if owed is None:
                continue
            found[name] = ~(self._meets(given, owed, name) | self._unowed(name))
        return found

    @cached_property
    def slack(self) -> Mapping[str, NDArray[Any]]:
        """Output name to how far apart two computations of the same wrong thing may lie, element by element."""
        half = self.result.dtype in HALF_PRECISION
        roundings = _ROUNDINGS_IN_HALF_PRECISION if half else _ROUNDINGS
        tolerances = _TOLERANCES_IN_HALF_PRECISION if half else _TOLERANCES
        unit = roundings * precision_of(self.result.dtype).output
        slack: dict[str, NDArray[Any]] = {}
        for name, given in self.given.items():
            size = np.where(np.isfinite(given), np.abs(given), 0.0)
            largest = size.max(axis=-1, keepdims=True, initial=0.0) if given.ndim else size
            apart = np.broadcast_to(unit * largest, given.shape)
            if self._owed(name) is not None:
                apart = np.maximum(apart, tolerances * self._tolerance(name))
            slack[name] = np.where(np.isfinite(apart), apart, 0.0) + precision_of(self.result.dtype).smallest
        return slack

    @cached_property
    def essential(self) -> tuple[str, ...]:
        """The outputs that a mistake must give to explain this run."""
        assert self.result.got is not None
        names = tuple(self.result.got)
        if not self.fails:
            return names
        wrong = tuple(name for name in names if name not in self.wrong or self._wrong_in_the_catalogue(name).any())
        return (self.first,) if self.first in wrong else tuple(name for name in names if name in {self.first, *wrong})

    def agreement(self, mistake: Mistake) -> Agreement | None:
        """Return how well a mistake reproduces the run, or None where it cannot be computed.

        It is None too where nothing went wrong but what a declared convention asks: the catalogue is normative, and
        says nothing of that.
        """
        computed = outputs_of(mistake, self.result.run)
        if computed is None or self._wrong_by_convention_alone:
            return None
        errors = {name: self._distance(name, array) for name, array in computed.items() if name in self.given}
        essential = [errors[name] for name in self.essential if name in errors]
        if not essential:
            return None
        error = max(essential)
        if self.fails and error <= 1 and not self._fails_too(computed):
            return Agreement(False, False, np.inf)
        decided = error <= 1 or not all(
            self._agrees_but_for_nan(name, computed[name]) for name in self.essential if name in computed
        )
        return Agreement(error <= 1, all(distance <= 1 for distance in errors.values()), error, decided)

    def likeness(self, mistake: Mistake) -> Likeness | None:
        """Return how alike a mistake is in what it gets wrong; None where the first output is not wrong.

        A mistake that cannot be computed where something went wrong is not alike at all.
        """
        wrong = self.wrong.get(self.first)
        if wrong is None or not wrong.any():
            return None
        computed = (outputs_of(mistake, self.result.run) or {}).get(self.first)
        owed = self._owed(self.first)
        if computed is None or owed is None or computed.shape != owed.shape:
            return Likeness(0.0, 0.0)
        theirs = ~(self._meets(computed.astype(np.float64), owed, self.first) | self._unowed(self.first))
        both = wrong & theirs
        equal = both & (self._distances(self.first, computed) <= 1)
        return Likeness(float(both.sum() / (wrong | theirs).sum()), float(equal.sum() / wrong.sum()))

    @cached_property
    def _wrong_by_convention_alone(self) -> bool:
        """Whether every wrong element is one for which a declared convention asks something else."""
        if not self.fails or len(self.wrong) < len(self.given):
            return False
        return not any(self._wrong_in_the_catalogue(name).any() for name in self.wrong)

    def _wrong_in_the_catalogue(self, name: str) -> NDArray[np.bool_]:
        """Return the wrong elements for which no convention asks something else than the catalogue does."""
        return self.wrong[name] & ~self._left_open(name)

    def _fails_too(self, computed: Mapping[str, NDArray[Any]]) -> bool:
        """Tell whether what a mistake computes is wrong where this run is: one that would pass explains no failure."""
        for name in self.essential:
            if name not in computed:
                continue
            owed = self._owed(name)
            if owed is None:
                return True
            right = self._meets(computed[name].astype(np.float64), owed, name)
            if (self._wrong_in_the_catalogue(name) & ~right).any():
                return True
        return False

    def _meets(self, numbers: NDArray[Any], owed: NDArray[Any], name: str) -> NDArray[np.bool_]:
        with np.errstate(all="ignore"):
            near = (np.abs(numbers - owed) <= self._tolerance(name)) | (numbers == owed)
        near |= np.isnan(numbers) & np.isnan(owed)
        to_reach = self._held[name]
        return near if to_reach is None else np.where(to_reach.elements, to_reach.within(numbers), near)

    def _distance(self, name: str, computed: NDArray[Any]) -> float:
        if self.given[name].shape != computed.shape:
            return np.inf
        largest = float(self._distances(name, computed).max(initial=0.0))
        return np.inf if np.isnan(largest) else largest

    def _distances(self, name: str, computed: NDArray[Any]) -> NDArray[Any]:
        given, computed = self.given[name], computed.astype(np.float64)
        with np.errstate(all="ignore"):
            distance = np.abs(given - computed) / self.slack[name]
        same = (given == computed) | (np.isnan(given) & np.isnan(computed)) | self._left_open(name)
        return np.where(same, 0.0, distance)

    def _agrees_but_for_nan(self, name: str, computed: NDArray[Any]) -> bool:
        if self.given[name].shape != computed.shape:
            return False
        numbers = ~(np.isnan(self.given[name]) | np.isnan(computed.astype(np.float64)))
        return bool((self._distances(name, computed)[numbers] <= 1).all())

    @property
    def _expected(self) -> Values | None:
        expected = self.result.run.expected
        return expected if isinstance(expected, Values) else None

    def _owed(self, name: str) -> NDArray[Any] | None:
        """Return what was owed, where it has the shape of what came back."""
        expected = self._expected
        owed = None if expected is None else expected.outputs.get(name)
        return owed if owed is not None and owed.shape == self.given[name].shape else None

    def _tolerance(self, name: str) -> NDArray[Any]:
        run = self.result.run
        assert run.bound is not None
        return run.bound.of(name, run.place).error

    def _unowed(self, name: str) -> NDArray[np.bool_]:
        """Return the elements that nobody owes."""
        return self._open[name][0]

    def _left_open(self, name: str) -> NDArray[np.bool_]:
        """Return the elements that nobody owes, or for which a declared convention asks something else."""
        return self._open[name][1]

    @cached_property
    def _open(self) -> Mapping[str, tuple[NDArray[np.bool_], NDArray[np.bool_]]]:
        return {name: self._elements_left_open(name) for name in self.given}

    @cached_property
    def _held(self) -> Mapping[str, Held | None]:
        """Output name to the elements that are held to their reach alone."""
        return {name: self._held_in(name) for name in self.given}

    def _held_in(self, name: str) -> Held | None:
        run, expected = self.result.run, self._expected
        if run.bound is None or expected is None or self._owed(name) is None:
            return None
        return held(run, expected, name, run.place)

    def _elements_left_open(self, name: str) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Return the elements that nobody owes, and those with the ones of a declared convention."""
        run, expected, owed = self.result.run, self._expected, self._owed(name)
        unowed = np.zeros(self.given[name].shape, dtype=np.bool_)
        if run.bound is None or expected is None or owed is None:
            return unowed, unowed
        to_reach = self._held[name]
        within = None if to_reach is None else to_reach.elements & to_reach.within(self.given[name])
        for elements in (left_open(run, expected, name), within):
            if elements is not None:
                unowed = unowed | elements
        if name in expected.sample:
            stored = np.zeros(unowed.size, dtype=np.bool_)
            stored[expected.sample[name]] = True
            unowed = unowed | ~stored.reshape(unowed.shape)
        if expected.under is None:
            return unowed, unowed
        normative = run.case.golden(run.dtype).get(name)
        if normative is None:
            return unowed, np.ones_like(unowed)
        return unowed, unowed | ~((owed == normative) | (np.isnan(owed) & np.isnan(normative)))


def outputs_of(mistake: Mistake, run: Run) -> Mapping[str, NDArray[Any]] | None:
    """Return the outputs that a mistake gives for a run, or None where it cannot be computed.

    It is given the inputs as the run gave them, in the memory layouts that the case asks for.
    """
    case, dtype = run.case, "float64" if run.dtype == ANY else run.dtype
    arrays = {name: to_run_dtype(array, dtype) for name, array in case.inputs.items()}
    inputs = presented_all(arrays, case.presentation)
    try:
        with np.errstate(all="ignore"):
            returned = mistake.function(**inputs, **own_attributes(case.attributes))
    except (ArithmeticError, IndexError, TypeError, ValueError):
        return None
    answer = read_returned(returned, run.operation, given=case.inputs)
    return answer.values if isinstance(answer, Outputs) else None
