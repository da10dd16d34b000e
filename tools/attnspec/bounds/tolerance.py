"""The tolerance of every output of a case, element by element.

There is one model and no hand-set number: a bound that runs through the phases of the operation, from the unit
roundoffs of the dtype and the case's own values. Each family has its own, made of :mod:`.estimates`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache, partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from attnspec.contract.dtypes import ANY, HALF_PRECISION, LARGEST

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

Known = TypeVar("Known")


_UNIT = {"float64": 2.0**-53, "float32": 2.0**-24, "float16": 2.0**-11, "bfloat16": 2.0**-8}
"""Unit roundoffs: half the distance from 1 to the next larger number, so 2 to minus the number of significant bits."""

_SMALLEST = {"float64": 2.0**-1022, "float32": 2.0**-126, "float16": 2.0**-24, "bfloat16": 2.0**-126}
"""What may be lost at the lower end of the range, in absolute terms.

Processors may flush subnormal numbers to zero, so it is the smallest normal number; bfloat16 has that of float32, in
which it is computed. float16 is computed in float32 too, where its subnormal numbers are normal ones and are not
flushed: only the rounding to its last step, 2**-24, remains.
"""


@dataclass(frozen=True)
class Precision:
    """What the error bound of a run is made of: numbers, or arrays that hold a number for each of several runs.

    Attributes
    ----------
    output
        Unit roundoff of the dtype of the results.
    accumulator
        Unit roundoff of sums of products: float32 for half precision, else the dtype itself.
    stored
        Unit roundoff of intermediate tensors: the accumulator's when phases are fused, else the output's.
    smallest
        The smallest number that results are held to: below it an implementation may flush to zero.
    largest
        The largest finite number of intermediate tensors.
    """

    output: float | NDArray[Any]
    accumulator: float | NDArray[Any]
    stored: float | NDArray[Any]
    smallest: float | NDArray[Any]
    largest: float | NDArray[Any]
    _at_ranks: dict[int, Precision] = field(
        init=False, default_factory=dict[int, "Precision"], repr=False, compare=False
    )

    @property
    def rounds_between_phases(self) -> Any:
        """Whether intermediate tensors are coarser than the sums inside a phase."""
        return self.stored > self.accumulator

    def at_rank(self, rank: int) -> Precision:
        """Return the precision in a shape that broadcasts, with the runs in front, against tensors of a rank."""
        if isinstance(self.output, float):
            return self
        known = self._at_ranks.get(rank)
        if known is None:
            shape = (-1,) + (1,) * rank
            known = Precision(*(np.reshape(getattr(self, name), shape) for name in _FIELDS))
            self._at_ranks[rank] = known
        return known


_FIELDS = ("output", "accumulator", "stored", "smallest", "largest")


def stacked(precisions: Sequence[Precision]) -> Precision:
    """Return several precisions as one, so that one pass of the error bound serves several runs.

    Errors that come out of it have an axis for the runs in front of the tensor's own axes.
    """
    return Precision(*(np.array([getattr(precision, name) for precision in precisions]) for name in _FIELDS))


@cache
def precision_of(dtype: str, *, fused: bool = False, inside: str | None = None) -> Precision:
    """Return the unit roundoffs for a run.

    Parameters
    ----------
    dtype
        Dtype of the run.
    fused
        Half precision only: intermediate tensors are held in float32 rather than in the dtype.
    inside
        The dtype in which an implementation declares that it computes float64 inside; None for float64.
    """
    if dtype == ANY:
        dtype = "float64"
    if dtype == "float64" and inside is not None:
        return Precision(_UNIT[dtype], _UNIT[inside], _UNIT[inside], _SMALLEST[inside], LARGEST[inside])
    carried = "float32" if dtype in HALF_PRECISION else dtype
    stored = carried if fused else dtype
    return Precision(_UNIT[dtype], _UNIT[carried], _UNIT[stored], _SMALLEST[dtype], LARGEST[stored])


class Estimate(NamedTuple):
    """A tensor and the error that it may carry.

    Attributes
    ----------
    value
        Float64 values.
    error
        Absolute error of each element, finite and not negative: same shape, or with one more axis in front where
        the precision stands for several runs.
    is_exact
        Whether all errors are 0, as those of an input.
    is_whole
        Whether an input held finite numbers alone.
    kinds
        The same number for features that carry one and the same error (E, or H, E for heads); None where none do.
    """

    value: NDArray[Any]
    error: NDArray[Any]
    is_exact: bool = False
    is_whole: bool = True
    kinds: NDArray[np.int64] | None = None


class Reach(NamedTuple):
    """Between which numbers the elements of an output lie, however much precision was lost on the way to them.

    Attributes
    ----------
    lowest, highest
        Numbers that broadcast against the output, with the runs in front where they differ from run to run.
    """

    lowest: NDArray[Any]
    highest: NDArray[Any]


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
