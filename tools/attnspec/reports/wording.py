"""The sentences of a report, shared by console and notebook."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attnspec.specification import clauses, errata

if TYPE_CHECKING:
    from attnspec.diagnosis import Diagnosis
    from attnspec.reports.report import Report
    from attnspec.runner import Result


def headline(report: Report) -> str:
    """Return who was validated and what came of it, in one line."""
    summary = report.summary
    name = " ".join(filter(None, (report.declaration.name, report.declaration.version)))
    passed, total = summary.counts.get("pass", 0), len(report.results)
    tried = total - summary.counts.get("unsupported", 0)
    graded = f"{summary.clauses_graded} of {summary.clauses} clauses graded"
    match summary.conformance:
        case "conforms":
            return f"{name} conforms: {passed} of {tried} passed, every clause graded."
        case "conforms in part":
            return f"{name} conforms in part: {passed} of {tried} passed, nothing wrong, {graded}."
        case "does not conform":
            if report.wrong:
                return f"{name} does not conform: {len(report.wrong)} of {tried} went wrong, {passed} passed."
            return f"{name} does not conform: nothing could be graded ({total} tried)."


def elements_sentence(report: Report) -> str | None:
    """Return how many numbers were compared and how close they came, or None when none were."""
    summary = report.summary
    if not summary.elements_graded:
        return None
    said = f"{summary.elements_graded:,} numbers compared"
    if summary.elements_not_graded:
        said += f", {summary.elements_not_graded:,} not graded"
    if summary.median is not None:
        said += f"; median error / tolerance {summary.median:.2g}"
    if summary.unfused:
        said += f"; of {summary.unfused} passes in half precision, graded unfused, {summary.fused} would pass fused too"
    return said + "."


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
    verdict = result.verdict
    if verdict.first_step is None:
        return None
    before = ", ".join(verdict.agreeing_steps)
    if not before:
        return f"The first step that diverges is {verdict.first_step!r}, the first one that was returned."
    agree = f"{before} {'is' if len(verdict.agreeing_steps) == 1 else 'are'} right"
    return f"The first step that diverges is {verdict.first_step!r}; {agree}."


def diagnosis_lines(diagnosis: Diagnosis) -> list[str]:
    """Return the lines that name a mistake, its clause, its remedy and the erratum; or say that it is unknown."""
    share = f"{diagnosis.explains} of {diagnosis.of} failures of {diagnosis.operation}"
    if diagnosis.clause is None:
        return [f"No known mistake explains {share}.", *diagnosis.facts, *diagnosis.attended]
    lines = [f"{diagnosis.sentence} (this mistake, {diagnosis.mistake}, reproduces {share})"]
    clause = clauses().get(diagnosis.clause)
    lines.append(f"It breaks {diagnosis.clause}: {clause.text if clause else 'see the spec'}")
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
