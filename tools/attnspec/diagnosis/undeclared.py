"""Undeclared conventions: failures of one operation that would be none, were a choice declared.

Results are kept, so they are graded anew under each choice, without another call. Whether the author means it so, only
the author knows.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from attnspec.contract import CONVENTIONS
from attnspec.contract.convention import Settles
from attnspec.contract.declarations import conventions_settling
from attnspec.diagnosis.attribute_values import may_be_meant
from attnspec.diagnosis.choosing import finite_results, spread_results
from attnspec.diagnosis.grading_anew import graded_anew
from attnspec.diagnosis.offer_content import is_explained
from attnspec.runner import Result

_NEARLY_ALL = 0.8
"""Share of failures that a convention must account for to be reported: something else may be wrong beside it."""

_GRADED_FIRST = 3
_MOST_OF_A_DTYPE = 400
"""Failures of a dtype that are graded anew; more would take longer than the run."""

GRADED_ANEW = (Settles.RESULTS, Settles.INNER_PRECISION, Settles.REFUSALS, Settles.ATTRIBUTE)


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
    chosen = {dtype: spread_results(finite_results(of_dtype), _MOST_OF_A_DTYPE) for dtype, of_dtype in by_dtype.items()}
    found = [
        turned
        for name, choice in _choices(failing[0])
        if (turned := _turned(name, choice, _dtypes_concerned(name, chosen, failing, passing), failing)) is not None
    ]
    return max(found, key=lambda entry: entry.undeclared.passes, default=None)


def _choices(result: Result) -> list[tuple[str, str]]:
    """Return the undeclared choices of every convention that decides expected values."""
    declared = result.run.conventions
    return [
        (name, choice)
        for name in result.run.operation.conventions
        if name in declared and CONVENTIONS[name].settles in GRADED_ANEW
        for choice in CONVENTIONS[name].choices
        if choice != declared[name] and may_be_meant(name, choice, result)
    ]


def _dtypes_concerned(
    name: str, by_dtype: Mapping[str, Sequence[Result]], failing: Sequence[Result], passing: Sequence[Result]
) -> Mapping[str, Sequence[Result]]:
    """Return the dtypes, with their failures, that a convention may concern.

    One on the precision inside concerns a dtype as a whole: where few cases fail, they are computed roughly themselves.
    """
    if name not in conventions_settling(Settles.INNER_PRECISION):
        return by_dtype
    wrong, right = (Counter(result.dtype for result in finite_results(results)) for results in (failing, passing))
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

    def under(result: Result) -> Result:
        """Return a result as it is under the convention, or unchanged where that only leaves it ungraded."""
        now = graded_anew(result, {name: choice})
        return now if now.is_wrong or is_explained(result, now) else result

    for dtype, chosen in by_dtype.items():
        first = [under(result) for result in chosen[:_GRADED_FIRST]]
        if 2 * sum(not now.is_wrong for now in first) <= len(first):
            continue
        now = [*first, *(under(result) for result in chosen[_GRADED_FIRST:])]
        if sum(not each.is_wrong for each in now) < _NEARLY_ALL * len(chosen):
            continue
        dtypes.append(dtype)
        looked_at += len(chosen)
        anew.update({id(result): each for result, each in zip(chosen, now, strict=True)})
    if not any(now.status in ("pass", "unsupported") for now in anew.values()):
        return None
    right = sum(not now.is_wrong for now in anew.values())
    left_out = [result for result in failing if result.dtype in dtypes and id(result) not in anew]
    anew.update({id(result): under(result) for result in left_out[:_MOST_OF_A_DTYPE]})
    graded = [(result, anew.get(id(result), result)) for result in failing]
    passes = tuple(result for result, now in graded if not now.is_wrong)
    still = tuple(now for _, now in graded if now.is_wrong)
    said = Undeclared(
        name, choice, () if {result.dtype for result in failing} == set(dtypes) else tuple(dtypes), right, looked_at
    )
    return GradedAnew(said, passes, still)
