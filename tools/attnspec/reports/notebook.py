"""Report in a notebook: a heading, a table by profile, and the failures, as plain HTML."""

from collections.abc import Mapping
from html import escape
from typing import Any

from attnspec.base.plain_text import plain_text
from attnspec.grading import STATUSES
from attnspec.reports import wording
from attnspec.reports.entries import (
    by_operation,
    diagnosis_lines,
    failure_of,
    implementation_name,
    wrong_results,
)

_FAILURES_SHOWN = 10


def notebook_html(document: Mapping[str, Any]) -> str:
    """Return a report.json as an HTML fragment; every text of the implementation is escaped."""
    summary = document["summary"]
    shown = [status for status in STATUSES if summary["statuses"].get(status)]
    head = "".join(f"<th>{name}</th>" for name in ("profile", *shown, wording.CLAUSES_GRADED, "verdict"))
    rows = "".join(
        "<tr>"
        + "".join(
            f"<td>{escape(str(cell))}</td>"
            for cell in (
                profile,
                *(of_profile["statuses"].get(status, 0) for status in shown),
                wording.clauses_graded(of_profile),
                of_profile["conformance"],
            )
        )
        + "</tr>"
        for profile, of_profile in summary["profiles"].items()
    )
    diagnosis = [line for entry in document["diagnosis"] for line in diagnosis_lines(entry)]
    wrong = [result for results in by_operation(wrong_results(document)).values() for result in results]
    failures = [failure_of([result]) for result in wrong[:_FAILURES_SHOWN]]
    lines = [f"{failure.cases[0]} ({failure.dtypes[0]}): {failure.ending}" for failure in failures]
    left = [wording.more(len(wrong) - len(lines))] if len(wrong) > len(lines) else []
    items = "".join(f"<li>{escape(plain_text(line))}</li>" for line in (*diagnosis, *lines, *left))
    ungraded = wording.ungraded_arguments(document.get("arguments", ()))
    verdict = wording.verdict_line(implementation_name(document), summary, document.get("not_run"))
    return (
        f"<div><strong>{escape(verdict)}</strong>"
        + ("" if ungraded is None else f"<p>{escape(plain_text(ungraded))}</p>")
        + f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
        + (f"<ul>{items}</ul>" if items else "")
        + "</div>"
    )
