"""The sentences of a report, shared by all that show one."""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING

from attnspec.contract import TITLES
from attnspec.plain_text import plain_text
from attnspec.specification import clause_text, errata

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from attnspec.adapters import Declaration
    from attnspec.diagnosis import Diagnosis
    from attnspec.reports.report import Report
    from attnspec.runner import Result

_FUNCTIONS_NAMED = 5


def headline(report: Report) -> str:
    """Return who was validated and what came of it, in one line."""
    summary = report.summary
    name = shown_name(report.declaration.name, report.declaration.version)
    clauses = (summary.clauses_graded, summary.clauses)
    return verdict_sentence(name, summary.conformance, summary.counts, clauses, not_run=report.not_run)


def family_sentences(report: Report) -> list[str]:
    """Return what came of each family, a line each; none where there is one alone, of which the headline tells."""
    if len(report.by_family) < 2:
        return []
    return [
        verdict_sentence(f"In {TITLES[family]}, it", of.conformance, of.counts, (of.clauses_graded, of.clauses))
        for family, of in report.by_family.items()
    ]


def left_out_sentences(left_out: Mapping[str, int]) -> list[str]:
    """Return a line for each family of which nothing is offered."""
    return [
        f"Not offered: {TITLES.get(family, family)} ({count} case{'' if count == 1 else 's'})."
        for family, count in left_out.items()
    ]


def not_graded_sentence(declaration: Declaration) -> str | None:
    """Return which functions stand beside the operations in the user's own file and are none; None for none."""
    names = declaration.not_graded
    if not names:
        return None
    more = f" and {len(names) - _FUNCTIONS_NAMED} more" if len(names) > _FUNCTIONS_NAMED else ""
    them, file = "it" if len(names) == 1 else "them", PurePath(declaration.adapter).name
    return (
        f"Not graded: {', '.join(names[:_FUNCTIONS_NAMED])}{more} ({file} defines {them}; "
        "--as OPERATION grades one function)."
    )


def shown_name(name: str, version: str | None) -> str:
    """Return name and version of an implementation, harmless and so short that the verdict after it is seen."""
    return plain_text(" ".join(filter(None, (name, version))), longest=80)


def not_run_sentence(report: Report) -> str | None:
    """Return how many results a run lacks that ended early, or None when it lacks none."""
    if not report.not_run:
        return None
    return (
        f"{report.not_run} of {report.not_run + len(report.results)} not run, because the process had ended. "
        "With --isolate it is started again after a crash."
    )


def verdict_sentence(
    name: str,
    conformance: str,
    counts: Mapping[str, int],
    clauses: tuple[int, int],
    *,
    not_run: int | None = None,
) -> str:
    """Return what came of a run in one line.

    Parameters
    ----------
    name
        Who was validated.
    conformance
        As in the report's summary.
    counts
        Status to number of (case, dtype).
    clauses
        How many clauses were graded, and how many there are.
    not_run
        How many (case, dtype) have no result, where the run ended early.
    """
    passed, total = counts.get("pass", 0), sum(counts.values())
    tried = total - counts.get("unsupported", 0)
    wrong = tried - passed
    if conformance == "conforms":
        return f"{name} conforms: {passed} of {tried} passed, every clause graded."
    if conformance == "conforms in part":
        graded = f"{clauses[0]} of {clauses[1]} clauses graded"
        return f"{name} conforms in part: {passed} of {tried} passed, nothing wrong, {graded}."
    left = f", {not_run} not run" if not_run else ""
    if wrong:
        return f"{name} does not conform: {wrong} of {tried} went wrong, {passed} passed{left}."
    if not_run is not None:
        return f"{name} was not validated to the end: {passed} of {tried} passed{left}."
    return f"{name} does not conform: nothing could be graded ({total} tried)."


def elements_sentence(report: Report) -> str | None:
    """Return how many numbers were compared and how close they came, or None when none were."""
    summary = report.summary
    said = numbers_compared(summary.elements_graded, summary.elements_not_graded, summary.median)
    if said is None:
        return None
    if summary.unfused:
        said += f"; of {summary.unfused} passes in half precision, graded unfused, {summary.fused} would pass fused too"
    return said + "."


def numbers_compared(graded: int, not_graded: int, median: float | None) -> str | None:
    """Return how many numbers were compared and how close they came, without a full stop; None when none were."""
    if not graded:
        return None
    said = f"{graded:,} numbers compared"
    if not_graded:
        said += f", {not_graded:,} not graded"
    if median is not None:
        said += f"; median error / tolerance {median:.2g}"
    return said


def failures_by_operation(report: Report) -> dict[str, list[Result]]:
    """Return the wrong results by operation, in order."""
    grouped: dict[str, list[Result]] = {}
    for result in report.wrong:
        grouped.setdefault(result.case.operation, []).append(result)
    return grouped


def result_sentence(result: Result) -> str:
    """Return in words what went wrong with one case."""
    verdict = result.verdict
    said = verdict.message or verdict.status
    if verdict.under:
        said += f" (graded under {verdict.under})"
    return said


def step_sentence(result: Result) -> str | None:
    """Return which step diverges first, or None when only one output was returned."""
    return diverging_step(result.verdict.first_step, result.verdict.agreeing_steps)


def diverging_step(first: str | None, agreeing: Sequence[str]) -> str | None:
    """Return the sentence on the step that diverges first, after those that agree; None when there is no such step."""
    if first is None:
        return None
    if not agreeing:
        return f"The first step that diverges is {first!r}, the first one that was returned."
    agree = f"{', '.join(agreeing)} {'is' if len(agreeing) == 1 else 'are'} right"
    return f"The first step that diverges is {first!r}; {agree}."


def diagnosis_lines(diagnosis: Diagnosis) -> list[str]:
    """Return the lines that name a mistake, its clause, its remedy and the erratum; or say that it is unknown."""
    share = f"{diagnosis.explains} of {diagnosis.of} failures of {diagnosis.operation}"
    if diagnosis.clause is None:
        return [f"No known mistake explains {share}.", *diagnosis.facts, *diagnosis.attended]
    lines = [f"{diagnosis.sentence} (this mistake, {diagnosis.mistake}, reproduces {share})"]
    lines.append(f"It breaks {diagnosis.clause}: {clause_text(diagnosis.clause)}")
    if diagnosis.remedy:
        lines.append(f"What to do: {diagnosis.remedy}")
    if diagnosis.erratum is not None:
        entry = errata().get(diagnosis.erratum)
        lines.append(f"Erratum {diagnosis.erratum}: {entry.title if entry else 'see spec/errata.md'}")
    return [*lines, *diagnosis.attended, *diagnosis.facts]


def explain_sentence(report: Report) -> str | None:
    """Return how to read on about what went wrong, or None when nothing did."""
    if not report.wrong:
        return None
    named = [entry.mistake for entry in report.diagnosis if entry.clause is not None]
    example = named[0] if named else report.wrong[0].case.id
    return f"`attnspec explain {example}` says more; so it does for the id of any clause, case or erratum."
