"""Reports that were written before: read, compared with each other, and ranked by accuracy."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import Any, cast

from attnspec.base.errors import FixtureError, ReportError
from attnspec.contract import OPERATIONS
from attnspec.grading import WRONG
from attnspec.reports.entries import is_of_run

Runs = tuple[tuple[str, str], ...]
"""(case, dtype) of some runs."""


@dataclass(frozen=True)
class Changes:
    """Changes from an older report to a newer one, as runs (case, dtype).

    `failing` went right before, `lost` are no longer offered, `gained` are newly offered and right; `new`,
    `new_failing` are unknown to the older report, `vanished` to the newer. `same_suite`: both used the same golden
    files. `accuracy`: old and new median and worst error / tolerance over the runs that both had compared, None where
    there are none.
    """

    failing: Runs
    fixed: Runs
    lost: Runs
    gained: Runs
    new: Runs
    new_failing: Runs
    vanished: Runs
    same_suite: bool
    accuracy: tuple[Accuracy, Accuracy] | None

    @property
    def is_worse(self) -> bool:
        """Whether anything goes wrong, is missing or has vanished that was right or there before."""
        return bool(self.failing or self.lost or self.new_failing or self.vanished)


def compare_reports(old: Mapping[str, Any], new: Mapping[str, Any]) -> Changes:
    """Compare two report.json documents, run by run."""
    before, after = _statuses(old), _statuses(new)
    both = [run for run in after if run in before]
    ranked = {entry.position: entry for entry in rank_reports((old, new), ("old", "new"))}
    return Changes(
        failing=tuple(run for run in both if after[run] in WRONG and before[run] not in WRONG),
        # What is of the whole run has a result only where it is wrong.
        fixed=tuple(
            run for run in before if before[run] in WRONG and after.get(run, is_of_run(run[0]) and "pass") == "pass"
        ),
        lost=tuple(run for run in both if after[run] == "unsupported" and before[run] != "unsupported"),
        gained=tuple(run for run in both if after[run] == "pass" and before[run] == "unsupported"),
        new=tuple(run for run in after if run not in before),
        new_failing=tuple(run for run in after if run not in before and after[run] in WRONG),
        vanished=tuple(run for run in before if run not in after and not is_of_run(run[0])),
        same_suite=old["suite"]["digest"] == new["suite"]["digest"],
        accuracy=(ranked[0], ranked[1]) if ranked else None,
    )


def _statuses(document: Mapping[str, Any]) -> dict[tuple[str, str], str]:
    return {(result["case"], result["dtype"]): result["status"] for result in document["results"]}


@dataclass(frozen=True)
class Accuracy:
    """Ranked implementation: (upper) median over the shared runs of the median error / tolerance of their first output.

    `worst` is the largest error / tolerance, above 1 a failure; `runs` counts the (case, dtype) that all had compared;
    `position` is the index of its report among those ranked.
    """

    name: str
    position: int
    median: float
    worst: float
    runs: int


def rank_reports(documents: Sequence[Mapping[str, Any]], names: Sequence[str]) -> tuple[Accuracy, ...]:
    """Rank report.json documents by median, then by worst, over the runs that were compared in all of them.

    The most accurate come first, those with an error beyond its tolerance last; empty where no run was compared in all.
    """
    compared = [_compared(document) for document in documents]
    shared = reduce(set[tuple[str, str]].intersection, (set(runs) for runs in compared))
    if not shared:
        return ()
    ranked: list[Accuracy] = []
    for position, (name, runs) in enumerate(zip(names, compared, strict=True)):
        medians = sorted(runs[run][0] for run in shared)
        worst = max(runs[run][1] for run in shared)
        ranked.append(Accuracy(name, position, medians[len(medians) // 2], worst, len(shared)))
    return tuple(sorted(ranked, key=lambda entry: (entry.worst > 1, entry.median, entry.worst, entry.position)))


def read_ratio(value: float | str | None) -> float | None:
    """Return a ratio of report.json as a float; NaN, which no tolerance allows, counts as infinite."""
    if value is None:
        return None
    number = float(value)
    return float("inf") if number != number else number  # noqa: PLR0124 - NaN alone differs from itself


def _compared(document: Mapping[str, Any]) -> dict[tuple[str, str], tuple[float, float]]:
    """Map (case, dtype) to median and worst of every run of which numbers were compared."""
    found: dict[tuple[str, str], tuple[float, float]] = {}
    for result in document["results"]:
        median = read_ratio(result["median"])
        if median is not None and result["worst"] is not None and result["graded"]:
            worst = read_ratio(result["worst"]["ratio"])
            assert worst is not None
            found[result["case"], result["dtype"]] = (median, worst)
    return found


def read_report(path: Path) -> dict[str, Any]:
    """Read one report.json, following ``spec/schemas/report.schema.json``.

    `ReportError` if the file cannot be read, is cut off, does not follow the schema, or has lost results.
    """
    from attnspec.cases.reading import check_against_schema

    document = _parsed(path)
    try:
        check_against_schema(path, document, "report")
    except FixtureError as error:
        raise ReportError(f"{error} Write it anew with `attnspec validate … --report {path.name}`.") from None
    for index, result in enumerate(document["results"]):
        if result["operation"] not in OPERATIONS:
            raise ReportError(
                f"{path} names the operation {result['operation']!r} at /results/{index}/operation, which this "
                "attnspec does not know; was it written by a later version?"
            )
    count, found = document["count"], len(document["results"])
    if count != found:
        raise ReportError(
            f"{path} says {count} results at /count but holds {found}: it was cut or edited. "
            f"Write it anew with `attnspec validate … --report {path.name}`."
        )
    return document


def _parsed(path: Path) -> dict[str, Any]:
    try:
        text = path.read_text(encoding="utf-8")
        document = json.loads(text, parse_constant=_no_constants)
    except OSError as error:
        raise ReportError(f"{path} cannot be read ({error.strerror}).") from None
    except UnicodeDecodeError as error:
        raise ReportError(f"{path} is not UTF-8 text (byte {error.start}); a report is.") from None
    except json.JSONDecodeError as error:
        present = error.doc.rstrip()
        # An unterminated string is said to be wrong where it starts.
        at_the_end = present[:1] in ("", "{") and (error.pos >= len(present) or not present.endswith("}"))
        cut = "; it seems to be cut off" if at_the_end else ""
        raise ReportError(
            f"{path} is not valid JSON (line {error.lineno}, column {error.colno}: {error.msg}{cut})."
        ) from None
    except (ValueError, RecursionError) as error:
        raise ReportError(f"{path} is not a report ({str(error)[:200]}).") from None
    if not isinstance(document, dict):
        raise ReportError(f"{path} does not hold a JSON object, as a report does.")
    return cast("dict[str, Any]", document)


def _no_constants(name: str) -> Any:
    raise ValueError(f'it holds the bare word {name}; a report writes it as a string, such as "inf"')
