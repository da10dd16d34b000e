"""The tolerance of every output of a case, element by element.

There is one model and no hand-set number: a bound that runs through the phases of the operation, from the unit
roundoffs of the dtype and the case's own values. Each family has its own, made of :mod:`.estimates`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from attnspec.contract.dtypes import ANY, HALF_PRECISION, LARGEST

Known = TypeVar("Known")


_UNIT = {"float64": 2.0**-53, "float32": 2.0**-24, "float16": 2.0**-11, "bfloat16": 2.0**-8}
"""Unit roundoffs: half the distance from 1 to the next larger number, so 2 to minus the number of significant bits."""

_SMALLEST = {"float64": 2.0**-1022, "float32": 2.0**-126, "float16": 2.0**-24, "bfloat16": 2.0**-126}
"""Loss at the lower end of the range, in absolute terms.

Processors may flush subnormal numbers to zero, so it is the smallest normal number; bfloat16 has that of float32, in
which it is computed. float16 is computed in float32 too, where its subnormal numbers are normal and not flushed: only
the rounding to its last step, 2**-24, is left.
"""


@dataclass(frozen=True)
class Precision:
    """Unit roundoffs and range for the error bound of a run: numbers, or arrays with one for each of several runs.

    `accumulator` is for sums of products (float32 in half precision), `stored` and `largest` for intermediate tensors:
    the accumulator's when phases are fused, else the output's. Below `smallest`, results may be flushed to zero.
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

    Its errors have an axis for the runs in front of the tensor's own axes.
    """
    return Precision(*(np.array([getattr(precision, name) for precision in precisions]) for name in _FIELDS))


@cache
def precision_of(dtype: str, *, fused: bool = False, inside: str | None = None) -> Precision:
    """Return the unit roundoffs of a run; `fused` holds intermediate tensors of half precision in float32.

    `inside` is the dtype in which an implementation declares that it computes float64; None for float64.
    """
    if dtype == ANY:
        dtype = "float64"
    if dtype == "float64" and inside is not None:
        return Precision(_UNIT[dtype], _UNIT[inside], _UNIT[inside], _SMALLEST[inside], LARGEST[inside])
    carried = "float32" if dtype in HALF_PRECISION else dtype
    stored = carried if fused else dtype
    return Precision(_UNIT[dtype], _UNIT[carried], _UNIT[stored], _SMALLEST[dtype], LARGEST[stored])


class Estimate(NamedTuple):
    """A float64 tensor and the absolute error of each element, finite and >= 0; runs in front where there are several.

    `is_exact`: all errors are 0, as those of an input. `is_whole`: an input has finite numbers alone. `kinds` (E, or
    H, E for heads) is the same number for features that carry one and the same error; None where none do.
    """

    value: NDArray[Any]
    error: NDArray[Any]
    is_exact: bool = False
    is_whole: bool = True
    kinds: NDArray[np.int64] | None = None


class Interval(NamedTuple):
    """Interval of the elements of an output, however much precision was lost; broadcasts, with the runs in front."""

    lowest: NDArray[Any]
    highest: NDArray[Any]


class UnsampledInterval(NamedTuple):
    """Interval of the elements that are not sampled, but for `left_open` ones; broadcasts to the whole output."""

    lowest: NDArray[Any]
    highest: NDArray[Any]
    left_open: NDArray[np.bool_]


class Tolerance:
    """Values and tolerances of the outputs of one case, each computed when it is needed.

    `vacuous` elements, whose tolerance says nothing, must lie within their `interval` or be finite; `unspecified`
    ones may hold anything. `run_of_values` is the run whose error the expected values add to every tolerance; None if
    certified.
    """

    def __init__(
        self,
        estimates: Mapping[str, Callable[[], Estimate]],
        vacuous: Mapping[str, Callable[[], NDArray[np.bool_]]] | None = None,
        by_convention: Mapping[str, NDArray[np.bool_]] | None = None,
        *,
        unspecified: Mapping[str, NDArray[np.bool_]] | None = None,
        interval: Mapping[str, Callable[[], Interval]] | None = None,
    ) -> None:
        self._estimates = estimates
        self._vacuous = vacuous or {}
        self._intervals = interval or {}
        self._known: dict[str, Estimate] = {}
        self.by_convention: Mapping[str, NDArray[np.bool_]] = by_convention or {}
        self.unspecified: Mapping[str, NDArray[np.bool_]] = unspecified or {}
        self.run_of_values: int | None = None

    def modelled(self) -> Tolerance:
        """Return the tolerances as the model computes them, where others are taken instead."""
        return self

    @property
    def sampled_slopes(self) -> Mapping[str, Mapping[str, NDArray[Any]]]:
        """Derivatives of sampled outputs by direction of the family and output, of those that the model knows."""
        return {}

    def error(self, output: str, run: int = 0) -> NDArray[Any]:
        """Return the tolerance of each element of one output in one of the runs."""
        return self.of(output, run).error

    def of(self, output: str, run: int = 0) -> Estimate:
        """Return value and tolerance of one output in one of the runs; every tolerance is finite."""
        estimate = self._known.get(output)
        if estimate is None:
            with np.errstate(all="ignore"):
                estimate = self._known[output] = self._estimates[output]()
        error = _errors_of_run(estimate.error, run, estimate.value.ndim)
        if self.run_of_values is not None:
            error = error + _errors_of_run(estimate.error, self.run_of_values, estimate.value.ndim)
        return Estimate(estimate.value, error)

    def vacuous(self, output: str, run: int = 0) -> NDArray[np.bool_] | None:
        """Return the elements of an output whose tolerance in a run says nothing, or None for none."""
        if output not in self._vacuous:
            return None
        rank = self.of(output).value.ndim
        return _errors_of_run(self._vacuous[output](), run, rank)

    def ungraded(self, output: str, run: int = 0) -> NDArray[np.bool_] | None:
        """Return the elements of an output that are vacuous in a run or expected of nobody, or None for none."""
        vacuous, unspecified = self.vacuous(output, run), self.unspecified.get(output)
        if vacuous is None or unspecified is None:
            return unspecified if vacuous is None else vacuous
        return vacuous | unspecified

    def interval_outside_sample(self, output: str, run: int = 0) -> UnsampledInterval | None:
        """Return the interval of the elements of an output that are not sampled; None where all are.

        Only the bound of sampled elements knows it, whose estimates are of the sample alone (N,).
        """
        del output, run

    def interval(self, output: str, run: int = 0) -> Interval | None:
        """Return the interval of the elements of an output in a run, or None where they have no bounds."""
        if output not in self._intervals:
            return None
        rank = self.of(output).value.ndim
        with np.errstate(all="ignore"):
            lowest, highest = self._intervals[output]()
        return Interval(_errors_of_run(lowest, run, rank), _errors_of_run(highest, run, rank))


def _errors_of_run(errors: NDArray[Any], run: int, rank: int) -> NDArray[Any]:
    """Return the part of one run; errors of the tensor's own rank are shared by all."""
    return errors if errors.ndim == rank else errors[run]


def deferred(**estimates: Estimate) -> dict[str, Callable[[], Estimate]]:
    """Return known estimates as functions without arguments, as `Tolerance` takes them."""
    return {name: partial(identity, estimate) for name, estimate in estimates.items()}


def identity(known: Known) -> Known:
    """Return what is known."""
    return known
