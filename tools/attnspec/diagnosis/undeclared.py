"""Undeclared conventions: failures that would pass if an implementation declared another choice.

Results are kept, so they are graded anew under each choice, without another call.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from attnspec.contract import CONVENTIONS
from attnspec.contract.convention import Settles
from attnspec.contract.conventions import Choices, settling
from attnspec.contract.implementation import Outputs, Raised
from attnspec.diagnosis.choosing import spread, telling
from attnspec.grading import RIGHT, grade
from attnspec.runner.planning import prepare

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from attnspec.runner import Result

_NEARLY_ALL = 0.8
"""Share of failures that a convention must account for to be reported: something else may be wrong beside it."""

_TRIED_FIRST = 3
_MOST_GRADED = 400
"""Failures of a dtype that are graded anew; more would take longer than the run."""

_BESIDE_VALUES = ("inputs_unchanged", "outputs_unchanged", "repeatable")
"""Checks that fail whatever the values are."""

_TRIED = (Settles.RESULTS, Settles.INNER_PRECISION, Settles.REFUSALS)


@dataclass(frozen=True)
class Undeclared:
    """Convention, and the choice to declare, under which failures would pass.

    `dtypes` is empty where it holds of all in which something fails. Of `of` failures looked at, `passes` would be
    none: they would pass or not be graded.
    """

    convention: str
    choice: str
    dtypes: tuple[str, ...]
    passes: int
    of: int


@dataclass(frozen=True)
class GradedAnew:
    """Failures graded anew under an undeclared convention: `passes` as they were, `still` as they are under it."""

    undeclared: Undeclared
    passes: tuple[Result, ...]
    still: tuple[Result, ...]


def undeclared_convention(failing: Sequence[Result], passing: Sequence[Result]) -> GradedAnew | None:
    """Return the convention under which nearly all failures of one operation, or those of a dtype, would be none."""
    by_dtype: dict[str, list[Result]] = {}
    for result in failing:
        by_dtype.setdefault(result.dtype, []).append(result)
    chosen = {dtype: spread(telling(of_dtype), _MOST_GRADED) for dtype, of_dtype in by_dtype.items()}
    found = [
        turned
        for name, choice in _choices(failing[0])
        if (turned := _turned(name, choice, _concerned(name, chosen, failing, passing), failing)) is not None
    ]
    return max(found, key=lambda entry: entry.undeclared.passes, default=None)


def _choices(result: Result) -> list[tuple[str, str]]:
    """Return the undeclared choices of every convention that decides expected values."""
    declared = result.run.conventions
    return [
        (name, choice)
        for name in result.run.operation.conventions
        if name in declared and CONVENTIONS[name].settles in _TRIED
        for choice in CONVENTIONS[name].choices
        if choice != declared[name]
    ]


def _concerned(
    name: str, by_dtype: Mapping[str, Sequence[Result]], failing: Sequence[Result], passing: Sequence[Result]
) -> Mapping[str, Sequence[Result]]:
    """Return the dtypes, with their failures, that a convention may concern.

    One on the precision inside concerns a dtype as a whole: where few cases fail, they are computed roughly themselves.
    """
    if name not in settling(Settles.INNER_PRECISION):
        return by_dtype
    wrong, right = (Counter(result.dtype for result in telling(results)) for results in (failing, passing))
    return {dtype: chosen for dtype, chosen in by_dtype.items() if wrong[dtype] >= right[dtype]}


def _turned(
    name: str, choice: str, by_dtype: Mapping[str, Sequence[Result]], failing: Sequence[Result]
) -> GradedAnew | None:
    """Return the failures under a convention; None where most would remain in every dtype.

    `by_dtype` holds the failures that show whether it is meant.
    """
    dtypes: list[str] = []
    looked_at = 0
    anew: dict[int, Result] = {}
    for dtype, chosen in by_dtype.items():
        first = [graded_anew(result, {name: choice}) for result in chosen[:_TRIED_FIRST]]
        if 2 * sum(is_right_under(now, name) for now in first) <= len(first):
            continue
        now = [*first, *(graded_anew(result, {name: choice}) for result in chosen[_TRIED_FIRST:])]
        if sum(is_right_under(each, name) for each in now) < _NEARLY_ALL * len(chosen):
            continue
        dtypes.append(dtype)
        looked_at += len(chosen)
        anew.update({id(result): each for result, each in zip(chosen, now, strict=True)})
    if not any(now.status in ("pass", "unsupported") for now in anew.values()):
        return None
    right = sum(is_right_under(now, name) for now in anew.values())
    left_out = [result for result in failing if result.dtype in dtypes and id(result) not in anew]
    anew.update({id(result): graded_anew(result, {name: choice}) for result in left_out[:_MOST_GRADED]})
    graded = [(result, anew.get(id(result), result)) for result in failing]
    passes = tuple(result for result, now in graded if is_right_under(now, name))
    still = tuple(now for _, now in graded if not is_right_under(now, name))
    said = Undeclared(
        name, choice, () if {result.dtype for result in failing} == set(dtypes) else tuple(dtypes), right, looked_at
    )
    return GradedAnew(said, passes, still)


def is_right_under(result: Result, name: str) -> bool:
    """Return whether nothing is wrong under a convention; where it leaves refusals open, such a case is not graded."""
    leaves_open = CONVENTIONS[name].settles is Settles.REFUSALS or CONVENTIONS[name].is_about_nan
    return result.status in RIGHT or (result.status == "unsupported" and leaves_open)


def graded_anew(result: Result, conventions: Mapping[str, str]) -> Result:
    """Return a result graded under `conventions`, over the declared ones; unchanged where no answer was kept."""
    if result.verdict.check in _BESIDE_VALUES:
        return result
    if result.got is not None:
        answer = Outputs(result.got)
    elif result.status == "error":
        answer = Raised(result.verdict.message)
    else:
        return result
    run = prepare(result.case, [result.dtype], Choices({**result.run.conventions, **conventions}))[result.dtype]
    return result._replace(run=run, verdict=grade(run, answer))
