"""The report in a notebook: a heading, a table by profile, and what went wrong, as plain HTML."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from attnspec.comparison import STATUSES
from attnspec.plain_text import plain_text
from attnspec.reports.wording import diagnosis_lines, failures_by_operation, headline, result_sentence

if TYPE_CHECKING:
    from attnspec.reports.report import Report

_FAILURES_SHOWN = 10


def notebook_html(report: Report) -> str:
    """Return the report as an HTML fragment; everything that the implementation said is escaped."""
    shown = [status for status in STATUSES if report.summary.counts.get(status)]
    head = "".join(f"<th>{name}</th>" for name in ("profile", *shown, "clauses graded", "verdict"))
    rows = "".join(
        "<tr>"
        + "".join(
            f"<td>{escape(str(cell))}</td>"
            for cell in (
                profile,
                *(summary.counts.get(status, 0) for status in shown),
                f"{summary.clauses_graded} of {summary.clauses}",
                summary.conformance,
            )
        )
        + "</tr>"
        for profile, summary in report.by_profile.items()
    )
    lines = [line for entry in report.diagnosis for line in diagnosis_lines(entry)]
    told = [
        f"{result.case.id} ({result.dtype}): {result_sentence(result)}"
        for results in failures_by_operation(report).values()
        for result in results
    ]
    if len(told) > _FAILURES_SHOWN:
        told = [*told[:_FAILURES_SHOWN], f"… and {len(told) - _FAILURES_SHOWN} more"]
    items = "".join(f"<li>{escape(plain_text(line))}</li>" for line in (*lines, *told))
    return (
        f"<div><strong>{escape(headline(report))}</strong>"
        f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
        + (f"<ul>{items}</ul>" if items else "")
        + "</div>"
    )
