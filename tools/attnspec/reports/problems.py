"""Distinct problems of a run: each failure belongs to one of them, so that their numbers add up to all failures."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from attnspec.contract.dtypes import ANY, FLOAT_DTYPES
from attnspec.grading import NOT_GRADED, RIGHT
from attnspec.runner.result import depends_on_earlier_calls, shows_earlier_calls

if TYPE_CHECKING:
    from attnspec.diagnosis import Diagnosis
    from attnspec.runner import Key, Result

Kind = Literal["cause", "check", "ending", "unexplained"]
"""How a problem is reported: by its cause, by the check that failed, by the words in which all ended, or not at all."""

_WIDEST_FIRST = {dtype: position for position, dtype in enumerate((*FLOAT_DTYPES, ANY))}
_ANSWER_FILE = re.compile(r"(?<!\S)\S+\.out\.(?=\w)")
_NUMBERS = re.compile(r"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?|\"-?inf\"|\"nan\"")
_QUOTED_LIST = re.compile(r"\[[\[\]0, -.e]*(?:\]|\.\.\.)")
"""A list of numbers, or the part of a long one that a message quotes; `_NUMBERS` went before."""
_EVERYBODYS = "documents"
"""Profile whose cases everybody can look up."""


@dataclass(frozen=True)
class Problem:
    """Problem of a run with its own failures, in order; none of them belongs to another problem.

    `diagnosis` holds several entries where these results do not distinguish mistakes, where one check fails in several
    clauses, and where several diagnoses know no cause.
    """

    kind: Kind
    results: tuple[Result, ...]
    diagnosis: tuple[Diagnosis, ...]

    @property
    def failing_operations(self) -> tuple[str, ...]:
        """The operations that fail, each once."""
        return tuple(dict.fromkeys(result.case.operation for result in self.results))

    @property
    def failing_dtypes(self) -> tuple[str, ...]:
        """The dtypes that fail, the widest first."""
        return tuple(dtype for dtype in _WIDEST_FIRST if any(result.dtype == dtype for result in self.results))

    @cached_property
    def clauses(self) -> Mapping[str, int]:
        """The clauses that are known to be broken, each with the number of failures, the most frequent first."""
        keys = {result.key for result in self.results}
        broken = {
            entry.clause: len(keys.intersection(entry.failures)) for entry in self.diagnosis if entry.clause is not None
        }
        return dict(Counter(broken).most_common())

    @cached_property
    def clearest(self) -> Result:
        """The failure that shows it best: with numbers, in the widest dtype, of a case exercising the broken clause.

        Among these, one that everybody can look up, then one that is there to catch the mistake, then one that is about
        little else.
        """
        mistakes = {entry.mistake for entry in self.diagnosis}
        suspected = (suspect.clause for entry in self.diagnosis for suspect in entry.suspects if suspect.is_reported)
        broken = {*self.clauses, *suspected}

        def key(result: Result) -> tuple[object, ...]:
            family, case = result.run.family, result.case
            return (
                result.got is None or not result.verdict.graded,
                _WIDEST_FIRST[result.dtype],
                case.profile in (*family.nonfinite_profiles, *family.least_telling_profiles),
                bool(broken) and broken.isdisjoint(case.clauses),
                case.profile != _EVERYBODYS,
                mistakes.isdisjoint(case.targets),
                len(case.clauses),
                case.size,
            )

        return min(self.results, key=key)


@dataclass(frozen=True)
class Whole:
    """Run as a whole, beside which a problem is reported.

    `operations` were graded; `right` holds case and dtype of each right result; `offered` are the conventions whose
    declaration is advised above all problems.
    """

    operations: frozenset[str]
    right: frozenset[Key]
    offered: frozenset[str] = frozenset()

    def spares(self, problem: Problem) -> bool:
        """Return whether cases of a problem are right in a dtype in which none of its failures is."""
        cases, dtypes = {result.case.id for result in problem.results}, problem.failing_dtypes
        return any(case in cases and dtype not in dtypes for case, dtype in self.right)


def whole_of(results: Sequence[Result], offered: Collection[str] = ()) -> Whole:
    """Return the run as a whole, from all its results and the conventions advised above all problems."""
    return Whole(
        frozenset(result.case.operation for result in results if result.status not in NOT_GRADED),
        frozenset(result.key for result in results if result.status in RIGHT),
        frozenset(key.partition("@")[0] for key in offered),
    )


def problems_of(wrong: Sequence[Result], diagnosis: Sequence[Diagnosis]) -> tuple[Problem, ...]:
    """Put each failure to one problem; the problem of most failures comes first, unexplained failures last."""
    # Diagnoses of the very same failures are of mistakes that these results do not distinguish.
    of_the_same: dict[tuple[str, tuple[Key, ...]], list[Diagnosis]] = {}
    for entry in diagnosis:
        of_the_same.setdefault((entry.operation, entry.failures), []).append(entry)
    explaining: dict[Key, Sequence[Diagnosis]] = {}
    for (_, failures), alike in of_the_same.items():
        for key in failures:
            explaining.setdefault(key, alike)
    grouped: dict[tuple[Kind, object], list[Result]] = {}
    entries: dict[tuple[Kind, object], dict[int, Diagnosis]] = {}
    for result in wrong:
        alike = explaining.get(result.key, ())
        group = _problem_key(result, alike)
        grouped.setdefault(group, []).append(result)
        entries.setdefault(group, {}).update((id(entry), entry) for entry in alike)
    problems = [
        Problem(kind, tuple(results), tuple(entries[kind, what].values())) for (kind, what), results in grouped.items()
    ]
    return tuple(sorted(problems, key=_position))


def _position(problem: Problem) -> tuple[bool, bool, bool, int]:
    """Return what problems are sorted by: what depends on earlier calls comes first, for nothing is sure before.

    A factor that was measured comes before clauses that are suspected: what it left of the numbers may point anywhere.
    """
    suspected = [suspect.clause for entry in problem.diagnosis for suspect in entry.suspects if suspect.is_reported]
    of_calls = any(map(shows_earlier_calls, problem.results)) or any(map(depends_on_earlier_calls, suspected))
    is_measured = any(result.is_of_run for result in problem.results)
    return problem.kind == "unexplained", not of_calls, not is_measured, -len(problem.results)


def _kind_of_message(message: str) -> str:
    """Return what messages have in common that differ in the data, the shape or the file that they quote."""
    return _QUOTED_LIST.sub("[]", _NUMBERS.sub("0", _ANSWER_FILE.sub("the answer", message)))


def _problem_key(result: Result, alike: Sequence[Diagnosis]) -> tuple[Kind, object]:
    """Return the kind of a failure's problem, and the value that all failures of that problem share."""
    entry = alike[0] if alike else None
    if entry is not None:
        if entry.check is not None:
            return "check", entry.check
        if entry.sentence or entry.undeclared is not None:
            return "cause", id(entry)
    if result.status != "fail":
        words = _kind_of_message(result.verdict.message)
        return "ending", (result.case.operation, result.status, words, result.verdict.under)
    if entry is not None and any(suspect.is_reported for suspect in entry.suspects):
        return "cause", id(entry)
    return "unexplained", None
