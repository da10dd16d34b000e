"""Writing a report to a file in the format of the file name's ending."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attnspec.base.errors import UsageError
from attnspec.base.files import check_replaceable, replace_file
from attnspec.cases import Suite, canonical_json
from attnspec.reports.document import report_to_json
from attnspec.reports.entries import implementation_name, is_known
from attnspec.reports.report import Report
from attnspec.reports.wording import counted, short_verdict

BADGE = "badge.json"
"""Ending of a badge's file name; every other ``.json`` is a report.json."""

_SUFFIXES = (".json", ".xml", ".md", ".html")
_COLOURS = {
    "conforms": "brightgreen",
    "conforms in part": "yellowgreen",
    "does not conform": "red",
    "nothing graded": "lightgrey",
}


def check_writable(path: Path) -> None:
    """Raise `UsageError` if a report cannot be written to `path`; found out before the run, not after it."""
    _format_of(path)
    check_replaceable(path, "--report")


def write_report(report: Report, path: Path, suite: Suite | None = None) -> None:
    """Write a report in the format of the file name's ending; see `write_document`."""
    write_document(report_to_json(report), path, suite)


def report_text(report: Report) -> str:
    """Return report.json as text, for output that is no file."""
    return canonical_json(report_to_json(report))


def write_document(document: Mapping[str, Any], path: Path, suite: Suite | None = None) -> None:
    """Write a report.json in the format of the file name's ending; `UsageError` if unknown or unwritable.

    ``.json`` gives report.json, ``badge.json`` a badge, ``.xml`` JUnit XML, ``.md`` Markdown, ``.html`` a page, which
    shows the inputs of `suite`; None means the shipped one.
    """
    text = _rendered(document, _format_of(path), suite)
    try:
        # A message may hold half of a surrogate pair, which UTF-8 cannot write.
        replace_file(path, text, errors="backslashreplace")
    except OSError as error:
        raise UsageError(f"The report could not be written to {path}: {error.strerror}.") from None


def _format_of(path: Path) -> str:
    if path.name.endswith(BADGE):
        return BADGE
    if path.suffix in _SUFFIXES:
        return path.suffix
    raise UsageError(
        f"--report {path}: the format is read from the suffix, and {path.suffix!r} is none of {', '.join(_SUFFIXES)} "
        f"(a name that ends in {BADGE} gives a badge)."
    )


def _rendered(document: Mapping[str, Any], form: str, suite: Suite | None) -> str:
    """Return a report.json in a format; those that were not requested are not loaded."""
    if form == BADGE:
        return badge(document)
    if form == ".xml":
        from attnspec.reports.formats.junit import junit_xml

        return junit_xml(document)
    if form == ".md":
        from attnspec.reports.formats.markdown import markdown

        return markdown(document)
    if form == ".html":
        from attnspec.cases import load_suite
        from attnspec.reports.html import html_page

        return html_page([document], [implementation_name(document)], suite or load_suite(whole=True))
    return canonical_json(document)


def badge(document: Mapping[str, Any]) -> str:
    """Return a report.json as the JSON that shields.io shows (https://shields.io/badges/endpoint-badge)."""
    summary, gate = document["summary"], document.get("gate")
    said, colour = short_verdict(summary), _COLOURS[summary["conformance"]]
    known = sum(map(is_known, document["results"]))
    if gate is not None and not gate["open"]:
        said, colour = "does not pass the gate", "red"
    elif known:
        said, colour = f"passes the gate, {counted(known, 'known failure')}", "yellowgreen"
    return json.dumps({"schemaVersion": 1, "label": "attnspec", "message": said, "color": colour}) + "\n"
