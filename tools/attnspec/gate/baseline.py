"""The baseline: what an implementation is known not to pass, kept under version control beside it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

from attnspec.cases import canonical_json, check_file
from attnspec.comparison import NOT_GRADED, RIGHT
from attnspec.errors import BaselineError, FixtureError
from attnspec.plain_text import plain_text
from attnspec.replacing import replace_file

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from attnspec.reports import Report
    from attnspec.runner import Result

FORMAT = 1
NOT_EXPLAINED = "not yet explained"
"""The reason beside an entry that `--update-baseline` added."""

Key = tuple[str, str]
"""Case id and dtype."""


def name_of(key: Key) -> str:
    """Return how a sentence calls one case in one dtype."""
    case, dtype = key
    return f"{case} ({dtype})"


@dataclass(frozen=True)
class Entry:
    """One result that is expected not to pass.

    Attributes
    ----------
    case, dtype
        Which one.
    status
        Its status.
    reason
        Why, in the words of whoever keeps the baseline.
    """

    case: str
    dtype: str
    status: str
    reason: str

    @property
    def key(self) -> Key:
        """Case id and dtype."""
        return self.case, self.dtype


@dataclass(frozen=True)
class Baseline:
    """What is expected of one implementation.

    Attributes
    ----------
    name
        The implementation's name, as plain text.
    operations, dtypes
        What it offers. What is not offered at all has no entries.
    conventions
        The conventions under which it was graded, as declared.
    entries
        The results that are expected not to pass, sorted.
    graded
        How many (case, dtype) were graded, right or wrong.
    suite_version, suite_digest
        The suite at that time.
    cases
        The cases that were run, with their revisions.
    """

    name: str
    operations: tuple[str, ...]
    dtypes: tuple[str, ...]
    conventions: Mapping[str, str]
    entries: tuple[Entry, ...]
    graded: int
    suite_version: str
    suite_digest: str
    cases: Mapping[str, int]

    @property
    def by_key(self) -> Mapping[Key, Entry]:
        """The entries by case id and dtype."""
        return {entry.key: entry for entry in self.entries}


def baseline_of(report: Report) -> Baseline:
    """Return the baseline that a run meets exactly."""
    declaration = report.declaration
    return Baseline(
        name=plain_text(declaration.name),
        operations=tuple(sorted(declaration.operations)),
        dtypes=tuple(sorted(declaration.dtypes)),
        conventions=dict(report.conventions),
        entries=tuple(
            sorted(
                (
                    Entry(result.case.id, result.dtype, result.status, NOT_EXPLAINED)
                    for result in report.results
                    if result.status not in RIGHT and result.case.operation in declaration.operations
                ),
                key=lambda entry: entry.key,
            )
        ),
        graded=graded(report.results),
        suite_version=report.suite_version,
        suite_digest=report.suite_digest,
        cases={result.case.id: result.case.revision for result in report.results},
    )


def graded(results: Iterable[Result]) -> int:
    """Return how many results were graded, right or wrong."""
    return sum(result.status not in NOT_GRADED for result in results)


def with_reasons_of(new: Baseline, old: Baseline) -> Baseline:
    """Return `new` with the reasons that stand in `old` beside the same case and dtype."""
    known = old.by_key
    return replace(
        new,
        entries=tuple(
            replace(entry, reason=known[entry.key].reason) if entry.key in known else entry for entry in new.entries
        ),
    )


def read_baseline(path: Path) -> Baseline:
    """Read a baseline.

    Raises
    ------
    BaselineError
        If there is none, or it is damaged, of another format, or something else altogether.
    """
    if not path.is_file():
        raise BaselineError(f"There is no baseline {str(path)!r}. Write it with --update-baseline.")
    try:
        document = check_file(path, kind="baseline")
    except FixtureError as error:
        raise BaselineError(f"{error} {_what_to_do(path)}") from None
    baseline = _from_json(document)
    if len(baseline.by_key) < len(baseline.entries):
        keys = [entry.key for entry in baseline.entries]
        case, dtype = next(key for key in keys if keys.count(key) > 1)
        raise BaselineError(f"{path} has two entries for {case} ({dtype}). Keep one of them.")
    return baseline


def write_baseline(baseline: Baseline, path: Path) -> None:
    """Write a baseline, in canonical bytes and in one step.

    Raises
    ------
    BaselineError
        If the file cannot be written.
    """
    try:
        replace_file(path, canonical_json(_to_json(baseline)))
    except OSError as error:
        raise BaselineError(f"The baseline could not be written to {path}: {error.strerror}.") from None


def _what_to_do(path: Path) -> str:
    """Return what helps with a file that is no baseline, from a look at what it is instead."""
    import json

    try:
        document: Any = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return "Restore it, or remove it and write it anew with --update-baseline."
    fields = cast("dict[str, Any]", document) if isinstance(document, dict) else {}
    if "results" in fields:
        return "It looks like a report; a baseline is written with --update-baseline."
    if "entries" in fields and fields.get("format") != FORMAT:
        return f"This attnspec reads baselines of format {FORMAT}; was it written by another version?"
    return "Restore it, or remove it and write it anew with --update-baseline."


def _from_json(document: Mapping[str, Any]) -> Baseline:
    implementation, suite = document["implementation"], document["suite"]
    return Baseline(
        name=implementation["name"],
        operations=tuple(implementation["operations"]),
        dtypes=tuple(implementation["dtypes"]),
        conventions=implementation["conventions"],
        entries=tuple(Entry(**entry) for entry in document["entries"]),
        graded=document["graded"],
        suite_version=suite["version"],
        suite_digest=suite["digest"],
        cases=suite["cases"],
    )


def _to_json(baseline: Baseline) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "entries": [
            {"case": entry.case, "dtype": entry.dtype, "status": entry.status, "reason": entry.reason}
            for entry in baseline.entries
        ],
        "graded": baseline.graded,
        "implementation": {
            "name": baseline.name,
            "operations": list(baseline.operations),
            "dtypes": list(baseline.dtypes),
            "conventions": dict(baseline.conventions),
        },
        "suite": {
            "version": baseline.suite_version,
            "digest": baseline.suite_digest,
            "cases": dict(baseline.cases),
        },
    }
