"""Report in a notebook: a heading, a table by profile, and the failures, as plain HTML."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

from attnspec.base.plain_text import plain_text
from attnspec.grading import STATUSES
from attnspec.reports import wording
from attnspec.reports.entries import (
    by_operation,
    clauses_graded,
    diagnosis_lines,
    failure_of,
    implementation_name,
    verdict,
    wrong_results,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

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
                "{} of {}".format(*clauses_graded(of_profile)),
                of_profile["conformance"],
            )
        )
        + "</tr>"
        for profile, of_profile in summary["profiles"].items()
    )
    items = "".join(f"<li>{escape(plain_text(line))}</li>" for line in (*_diagnosis(document), *_failures(document)))
    return (
        f"<div><strong>{escape(verdict(implementation_name(document), summary, document.get('not_run')))}</strong>"
        f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
        + (f"<ul>{items}</ul>" if items else "")
        + "</div>"
    )


def _diagnosis(document: Mapping[str, Any]) -> list[str]:
    return [line for entry in document["diagnosis"] for line in diagnosis_lines(entry)]


def _failures(document: Mapping[str, Any]) -> list[str]:
    """Return the first failures, an operation at a time, and how many follow."""
    wrong = [result for results in by_operation(wrong_results(document)).values() for result in results]
    failures = [failure_of([result]) for result in wrong[:_FAILURES_SHOWN]]
    lines = [f"{failure.cases[0]} ({failure.dtypes[0]}): {failure.ending}" for failure in failures]
    return [*lines, *([wording.more(len(wrong) - len(lines))] if len(wrong) > len(lines) else [])]
