"""Baseline: the known failures of an implementation, kept under version control beside it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from attnspec.base.errors import BaselineError
from attnspec.base.plain_text import plain_text
from attnspec.contract.dtypes import ANY
from attnspec.grading import NOT_GRADED, Status

if TYPE_CHECKING:
    from attnspec.cases import Case
    from attnspec.gate.group import Group
    from attnspec.gate.ungraded_arguments import UngradedArgument
    from attnspec.reports.report import Report
    from attnspec.runner import Result

FORMAT = 2
"""Format that is written: groups for unsupported results. Format 1 listed every unsupported result by itself."""

NOT_EXPLAINED = "not yet explained"
"""The reason beside an entry or a group that `--update-baseline` added."""

Key = tuple[str, str]
"""Case id and dtype."""


def name_of(key: Key) -> str:
    """Return the name of one case in one dtype for a sentence."""
    case, dtype = key
    return f"{case} ({dtype})"


def result_message(result: Result) -> str:
    """Return the message of a result, as groups and baselines have it: harmless and on one line."""
    return plain_text(result.verdict.message or result.status)


@dataclass(frozen=True)
class Entry:
    """Result that is expected not to pass, with its `reason` in the words of people.

    The status is ``unsupported`` in a baseline of format 1 alone.
    """

    case: str
    dtype: str
    status: Status
    reason: str

    @property
    def key(self) -> Key:
        """Case id and dtype."""
        return self.case, self.dtype


@dataclass(frozen=True)
class Baseline:
    """Expectations of one implementation: sorted `entries` that do not pass, and `groups` that are unsupported.

    `ungraded_arguments` are taken, and nothing graded shows them (None: written before they were looked at). Operations
    and dtypes that are not offered at all have neither. `graded` counts (case, dtype), right or wrong;
    `cases` holds revisions; `answered` maps each dtype to ids of cases that were not unsupported (None in format 1).
    """

    name: str
    operations: tuple[str, ...]
    dtypes: tuple[str, ...]
    conventions: Mapping[str, str]
    entries: tuple[Entry, ...]
    groups: tuple[Group, ...]
    graded: int
    suite_version: str
    suite_digest: str
    cases: Mapping[str, int]
    answered: Mapping[str, frozenset[str]] | None
    format: int = FORMAT
    ungraded_arguments: tuple[UngradedArgument, ...] | None = None

    @cached_property
    def by_key(self) -> Mapping[Key, Entry]:
        """The entries by case id and dtype."""
        return {entry.key: entry for entry in self.entries}

    def has_seen(self, case: Case, dtype: str) -> bool:
        """Return whether a case was run as it is now, in this dtype and with its operation on offer."""
        return self.cases.get(case.id) == case.revision and case.operation in self.operations and dtype in self.ran_in

    @property
    def ran_in(self) -> Collection[str]:
        """The dtypes in which cases were run; ``any`` is the one of cases without floats."""
        return (*self.dtypes, ANY) if self.answered is None else self.answered

    def was_unsupported(self, key: Key) -> bool:
        """Return whether a result that was seen was unsupported."""
        if self.answered is None:
            entry = self.by_key.get(key)
            return entry is not None and entry.status == "unsupported"
        case, dtype = key
        return case not in self.answered[dtype]


def baseline_of(
    report: Report,
    entries: Iterable[Entry],
    groups: Sequence[Group],
    ungraded_arguments: tuple[UngradedArgument, ...],
) -> Baseline:
    """Return the baseline of a run, with these entries, groups, and arguments that are taken and not graded."""
    declaration = report.declaration
    answered: dict[str, set[str]] = {}
    for result in report.results:
        if result.is_of_run:
            continue
        of_dtype = answered.setdefault(result.dtype, set())
        if result.status != "unsupported":
            of_dtype.add(result.case.id)
    return Baseline(
        name=plain_text(declaration.name),
        operations=tuple(sorted(declaration.operations)),
        dtypes=tuple(sorted(declaration.dtypes)),
        conventions=dict(report.conventions),
        entries=tuple(sorted(entries, key=lambda entry: entry.key)),
        groups=tuple(groups),
        graded=count_graded(report.results),
        suite_version=report.suite_version,
        suite_digest=report.suite_digest,
        cases={result.case.id: result.case.revision for result in report.results if not result.is_of_run},
        answered={dtype: frozenset(ids) for dtype, ids in answered.items()},
        ungraded_arguments=ungraded_arguments,
    )


def count_graded(results: Iterable[Result]) -> int:
    """Return how many results of cases were graded, right or wrong."""
    return sum(result.status not in NOT_GRADED and not result.is_of_run for result in results)


def check_same_implementation(report: Report, baseline: Baseline) -> None:
    """Raise `BaselineError` if the baseline is about another implementation than the report."""
    name = plain_text(report.declaration.name)
    if baseline.name != name:
        raise BaselineError(
            f"The baseline is of {baseline.name!r}, but this is {name!r}. "
            "Give each implementation a baseline of its own, or write the name into the baseline if only that changed."
        )
