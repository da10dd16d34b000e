"""Systematic errors of a run: factors that are off for all results alike, fitted to errors within their tolerance.

Roundings scatter, and their mean falls with the number of results; a scale that is off pulls every element as its
derivative says. The directions of an operation are fitted together, since one looks much like another in few cases.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from attnspec.bounds.tolerance import precision_of
from attnspec.cases import Case
from attnspec.contract import OPERATIONS
from attnspec.contract.convention import Settles
from attnspec.contract.dtypes import HALF_PRECISION, rounded_to
from attnspec.families.lookup import family_of
from attnspec.grading import SYSTEMATIC, Run, Verdict
from attnspec.grading.pull import Pull, is_met_without, pulls_of
from attnspec.runner.of_run import failure_of_run
from attnspec.runner.planning import Resolved
from attnspec.runner.result import Result

if TYPE_CHECKING:
    from attnspec.families.record import Shapes

FEWEST = 30
"""Cases from which on a fit speaks. Of fewer, the uncertainty is itself uncertain: with 26 cases, a right one lay
5 standard errors beside 1."""

CERTAIN = 8.0
"""Standard errors that a factor must lie beside 1. Where a hundred implementations are measured in four dtypes, in two
directions of a few operations, chance alone reaches 4; the rest is for cases that share their numbers."""

_HALF_PRECISION = 0.25
"""Largest distance from 1, in unit roundoffs of half precision, that right results may show. The largest that was seen
is a seventh of that, of chains of calls; the other side is 0.3 % in bfloat16, three times as far."""

_WHOLE_PRECISION = 4.0
"""The same in float32 and float64: the scale, the base of the exponential and a factor or two that stand for them are
each rounded once to the dtype in which they are computed, and are then off for all results alike. A scale that is split
between query and key shows 0.3 of it."""

_TYPICAL = 0.3
"""Standard error, as a share of the median one, to which a case is kept: none with many elements may rule the fit."""

_NEAR = 1.345
"""Deviations up to which a result counts wholly, by Huber: 95 % as good as the mean where errors are normal."""

_FAINT = 1e-9
"""Share of the strongest direction of a case below which another is the rounding of its sums."""

_OF_THE_MEDIAN = 1.4826
"""Standard deviation of normal errors in units of the median of their sizes."""

_SETTLED = 1e-6
"""Relative change of the factors from one round to the next after which they stand."""

_ROUNDS = 50
"""Far more rounds than the weights need until they stand still."""


_SHOWN = 6
"""Decimals up to which a factor is written out; beyond them, its distance from 1 reads better."""


@dataclass(frozen=True)
class SystematicError:
    """A factor that was fitted over a run: of an operation, in a dtype, in a direction of its family.

    `deviation` is how far it lies beside 1, `uncertainty` its standard error, `cases` so many passed and speak. It is
    wrong beyond `limit`, where no rounding of right implementations goes, unless it is `explained` by a parameter
    that was rounded to half precision, as a chain of calls may do. It `accounts_for` failures that would pass without
    it.
    """

    operation: str
    dtype: str
    direction: str
    subject: str
    deviation: float
    uncertainty: float
    cases: int
    limit: float
    explained: bool = False
    accounts_for: tuple[tuple[str, str], ...] = ()

    @property
    def is_wrong(self) -> bool:
        """Whether no rounding explains it."""
        return _is_off(self.deviation, self.uncertainty, self.limit) and not self.explained

    @property
    def id(self) -> str:
        """The id under which it stands in reports and baselines, as if it were a case."""
        return f"{SYSTEMATIC}/{self.operation}/{self.direction}"

    @property
    def factor(self) -> str:
        """The factor and its uncertainty, to one digit of the latter, in words that no float64 rounds."""
        digits = -math.floor(math.log10(self.uncertainty)) if self.uncertainty > 0 else _SHOWN
        if digits <= _SHOWN:
            return f"{1 + self.deviation:.{digits}f} ± {self.uncertainty:.{digits}f}"
        sign = "+" if self.deviation >= 0 else "-"
        return f"1 {sign} {abs(self.deviation):.1e} ± {self.uncertainty:.0e}"

    @property
    def sentence(self) -> str:
        """What was measured, in a sentence without an end."""
        rounded = f", as where it is rounded to {self.dtype}" if self.explained else ""
        return f"{self.subject} {self.factor} of what is expected ({self.dtype}, {self.cases} cases){rounded}"


def with_pulls(results: Sequence[Result]) -> tuple[Result, ...]:
    """Return results, each that passed with what its errors say; they are summed for all of them together."""
    answered = [
        (position, (result.run, result.got))
        for position, result in enumerate(results)
        if result.status == "pass" and result.got is not None
    ]
    found = list(results)
    for (position, _), pull in zip(answered, pulls_of([answer for _, answer in answered]), strict=True):
        if pull is not None:
            result = results[position]
            found[position] = result._replace(verdict=result.verdict._replace(pull=pull))
    return tuple(found)


def with_pull_of_sample(run: Run, verdict: Verdict, got: Mapping[str, NDArray[Any]]) -> Verdict:
    """Return the verdict on the whole outputs of a thinned case, with what its sample's errors say if it passed."""
    if verdict.status != "pass":
        return verdict
    sample = {name: np.take(got[name], elements) for name, elements in run.case.sample.items() if name in got}
    return verdict._replace(pull=pulls_of([(run, sample)])[0])


def systematic_errors(results: Iterable[Result], resolved: Resolved) -> tuple[SystematicError, ...]:
    """Return what was fitted over the passing results of a run; nothing of operations and dtypes with too few.

    `resolved` has the choice of every convention: where float64 is computed in another dtype, and half precision fused.
    """
    by_case: dict[tuple[str, str], dict[str, list[Result]]] = {}
    wrong: dict[tuple[str, str], list[Result]] = {}
    for result in results:
        if result.status == "pass" and result.verdict.pull is not None:
            of_cases = by_case.setdefault((result.case.operation, result.dtype), {})
            of_cases.setdefault(result.case.id, []).append(result)
        elif result.verdict.check == "values" and result.got is not None:
            wrong.setdefault((result.case.operation, result.dtype), []).append(result)
    found: list[SystematicError] = []
    for (operation, dtype), of_cases in by_case.items():
        if len(of_cases) >= FEWEST:
            choices = resolved.of(operation, dtype)
            is_fused = OPERATIONS[operation].may_fuse and bool(choices.departing[Settles.ROUNDINGS])
            stores = dtype in HALF_PRECISION and not is_fused
            limit = _limit(dtype, choices.inner_dtype)
            errors = [*_errors_of(operation, dtype, [*of_cases.values()], limit, may_be_rounded=stores)]
            found += _with_accounted(errors, wrong.get((operation, dtype), ()))
    return tuple(found)


def _with_accounted(errors: Sequence[SystematicError], wrong: Sequence[Result]) -> list[SystematicError]:
    """Return the errors of an operation in a dtype, those that are wrong with the failures that they account for."""
    deviations = [error.deviation if error.is_wrong else 0.0 for error in errors]
    if not any(deviations):
        return [*errors]
    outputs = family_of(errors[0].operation).directions(errors[0].operation)[0].outputs
    met = tuple(
        result.key
        for result in wrong
        if result.verdict.output in outputs
        and result.got is not None
        and is_met_without(result.run, result.got, deviations)
    )
    return [replace(error, accounts_for=met) if error.is_wrong else error for error in errors]


def _errors_of(
    operation: str, dtype: str, of_cases: Sequence[Sequence[Result]], limit: float, *, may_be_rounded: bool
) -> Iterator[SystematicError]:
    """Yield the factors of one operation in one dtype, and whether a rounded parameter explains those that are off."""
    directions = family_of(operation).directions(operation)
    pulls = [[result.verdict.pull or () for result in of_case] for of_case in of_cases]
    fit = fitted_factors(pulls, np.zeros((len(pulls), len(directions))))
    if fit is None:
        return
    measured = zip(directions, fit.deviations, fit.uncertainties, strict=True)
    for position, (direction, deviation, uncertainty) in enumerate(measured):
        error = SystematicError(
            operation, dtype, direction.name, direction.subject, deviation, uncertainty, len(pulls), limit
        )
        if error.is_wrong and may_be_rounded and direction.parameter is not None:
            for rounded in _roundings(direction.parameter, [of_case[0].case for of_case in of_cases], dtype):
                moved = np.zeros((len(pulls), len(directions)))
                moved[:, position] = rounded
                other = fitted_factors(pulls, moved)
                if other is not None and _explains(other, fit, position, limit):
                    error = replace(error, explained=True)
        yield error


def _explains(rounded: Fit, plain: Fit, position: int, limit: float) -> bool:
    """Return whether a rounded parameter leaves a factor at 1, and the cases are at least as well met by it.

    Where all cases have one parameter, a rounding and a factor that is off as far are the same.
    """
    is_met = rounded.loss(plain.near) <= plain.loss(plain.near) * (1 + _SETTLED)
    return is_met and not _is_off(rounded.deviations[position], rounded.uncertainties[position], limit)


def _roundings(
    parameter: Callable[[str, Shapes, Mapping[str, Any]], float], cases: Sequence[Case], dtype: str
) -> tuple[NDArray[np.float64], ...]:
    """Return how far a parameter is off in each case where it is rounded to a dtype.

    So it may be itself, the number that is divided by, or its root, by which both factors of a product are multiplied.
    """
    numbers = np.array([parameter(case.operation, case.shapes, case.attributes) for case in cases], np.float64)
    numbers = np.where(np.isfinite(numbers) & (numbers != 0), numbers, 1.0)
    with np.errstate(all="ignore"):
        times = rounded_to(numbers, dtype) / numbers - 1
        divided = 1 / (rounded_to(1 / numbers, dtype) * numbers) - 1
        roots = np.sqrt(np.abs(numbers))
        twice = (rounded_to(roots, dtype) / roots) ** 2 - 1
    return tuple(np.where(np.isfinite(off), off, 0.0) for off in (times, divided, twice))


def _is_off(deviation: float, uncertainty: float, limit: float) -> bool:
    """Return whether a factor is off by more than its limit, and than chance."""
    return abs(deviation) > max(limit, CERTAIN * uncertainty)


def systematic_failures(errors: Sequence[SystematicError]) -> tuple[Result, ...]:
    """Return a wrong result for each systematic error that is wrong, of a case that stands for the whole run."""
    return tuple(_failure(error) for error in errors if error.is_wrong)


def _failure(error: SystematicError) -> Result:
    clause = f"{OPERATIONS[error.operation].short_name}.precision.{SYSTEMATIC}"
    title = f"The errors of all passing cases of {error.operation} together"
    failure = failure_of_run(error.operation, error.id, title, clause, error.dtype, error.sentence)
    return failure._replace(verdict=failure.verdict._replace(accounts_for=error.accounts_for))


class Fit(NamedTuple):
    """Deviations of the factors from 1, their standard errors, residuals, and up to where these are near."""

    deviations: list[float]
    uncertainties: list[float]
    residuals: NDArray[np.float64]
    near: float

    def loss(self, near: float) -> float:
        """Return the sum of the residuals by Huber: of their squares where they are near, of their sizes beyond."""
        sizes = np.abs(self.residuals)
        return float(np.sum(np.where(sizes <= near, sizes**2, near * (2 * sizes - near))))


def fitted_factors(of_cases: Sequence[Sequence[Pull]], known: NDArray[np.float64]) -> Fit | None:
    """Return how far each factor lies beside 1; None where the cases do not distinguish the factors.

    A robust mean: each case gives as many equations as it has directions that show in it, of residuals that are alike
    in size, since errors are measured in tolerances. Results of one case are not independent of each other. `known`
    (cases, directions) are deviations that are taken away before.
    """
    directions = known.shape[-1]
    rows, values, numbers = _equations(of_cases, directions)
    if not rows.size:
        return None
    values = values - np.sum(rows * known[numbers], axis=-1)
    sizes = np.linalg.norm(rows, axis=1)
    weighed = np.minimum(1, np.median(sizes) / _TYPICAL / sizes)
    rows, values = rows * weighed[:, None], values * weighed
    try:
        factors, residuals, near = _robust_mean(rows, values)
        close = rows[np.abs(residuals) <= near]
        inverse = cast("NDArray[np.float64]", np.linalg.inv(close.T @ close))
    except np.linalg.LinAlgError:
        return None
    moments = np.zeros((len(of_cases), directions))
    np.add.at(moments, numbers, rows * np.clip(residuals, -near, near)[:, None])
    uncertainty = np.sqrt(np.diag(inverse @ (moments.T @ moments) @ inverse))
    if not np.isfinite([factors, uncertainty]).all():
        return None
    return Fit(factors.tolist(), uncertainty.tolist(), residuals, near)


def _robust_mean(
    rows: NDArray[np.float64], values: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
    """Return the factors by Huber, the residuals of the equations, and up to where one counts wholly."""
    factors: NDArray[np.float64] = np.zeros(int(rows.shape[-1]))
    weights, residuals, near = np.ones(len(values)), values, 0.0
    for _ in range(_ROUNDS):
        before, weighed = factors, rows * weights[:, None]
        factors = cast("NDArray[np.float64]", np.linalg.solve(weighed.T @ rows, weighed.T @ values))
        residuals = values - rows @ factors
        near = _NEAR * _OF_THE_MEDIAN * float(np.median(np.abs(residuals)))
        weights = np.minimum(1, near / np.maximum(np.abs(residuals), np.finfo(np.float64).tiny))
        if np.abs(factors - before).max() <= _SETTLED * np.abs(factors).max():
            break
    return factors, residuals, near


def _equations(
    of_cases: Sequence[Sequence[Pull]], directions: int
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]:
    """Return the equations of the cases, rows and values, and to which case each belongs."""
    upper = np.triu_indices(directions)
    products = np.zeros((len(of_cases), directions, directions))
    every = np.array([pull for pulls in of_cases for pull in pulls])
    sums = np.zeros((len(of_cases), every.shape[-1]))
    np.add.at(sums, [number for number, pulls in enumerate(of_cases) for _ in pulls], every)
    products[:, *upper] = sums[:, :-directions]
    products[:, *upper[::-1]] = sums[:, :-directions]
    strengths, axes = np.linalg.eigh(products)
    moments = np.einsum("cij,ci->cj", axes, sums[:, -directions:])
    speaking = strengths > _FAINT * np.maximum(strengths[:, -1:], np.finfo(np.float64).tiny)
    roots = np.sqrt(np.where(speaking, strengths, 1.0))
    rows = np.swapaxes(axes * roots[:, None, :], -1, -2)[speaking]
    return rows, (moments / roots)[speaking], np.nonzero(speaking)[0]


def _limit(dtype: str, inside: str | None) -> float:
    """Return how far a factor may lie beside 1 where only roundings are at work, in a dtype."""
    precision = precision_of(dtype, inside=inside)
    if dtype in HALF_PRECISION:
        return _HALF_PRECISION * float(precision.output)
    return _WHOLE_PRECISION * float(precision.accumulator)
