"""Writing a report to a file in the format of the file name's ending."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from attnspec.base.errors import UsageError
from attnspec.base.replacing import check_replaceable, replace_file
from attnspec.cases import canonical_json
from attnspec.reports.report import report_to_json
from attnspec.reports.wording import short_verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from attnspec.cases import Suite
    from attnspec.reports.report import Report

BADGE = "badge.json"
"""Ending of a badge's file name; every other ``.json`` is a report.json."""


def check_writable(path: Path) -> None:
    """Raise `UsageError` if a report cannot be written to `path`; found out before the run, not after it."""
    _renderer(path)
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
    text = _renderer(path)(document, suite)
    try:
        # A message may hold half of a surrogate pair, which UTF-8 cannot write.
        replace_file(path, text, errors="backslashreplace")
    except OSError as error:
        raise UsageError(f"The report could not be written to {path}: {error.strerror}.") from None


def _renderer(path: Path) -> Callable[[Mapping[str, Any], Suite | None], str]:
    if path.name.endswith(BADGE):
        return _badge
    if path.suffix in _FORMATS:
        return _FORMATS[path.suffix]
    raise UsageError(
        f"--report {path}: the format is read from the suffix, and {path.suffix!r} is none of {', '.join(_FORMATS)} "
        f"(a name that ends in {BADGE} gives a badge)."
    )


def _report_json(document: Mapping[str, Any], _: Suite | None) -> str:
    return canonical_json(document)


def _badge(document: Mapping[str, Any], _: Suite | None) -> str:

    return badge(document)


def _junit_xml(document: Mapping[str, Any], _: Suite | None) -> str:
    from attnspec.reports.formats.junit import junit_xml

    return junit_xml(document)


def _markdown(document: Mapping[str, Any], _: Suite | None) -> str:
    from attnspec.reports.formats.markdown import markdown

    return markdown(document)


def _html(document: Mapping[str, Any], suite: Suite | None) -> str:
    from attnspec.cases import load_suite
    from attnspec.reports.html import html_page

    return html_page([document], [document["implementation"]["name"]], suite or load_suite(whole=True))


_FORMATS: Mapping[str, Callable[[Mapping[str, Any], Suite | None], str]] = {
    ".json": _report_json,
    ".xml": _junit_xml,
    ".md": _markdown,
    ".html": _html,
}

_COLOURS = {"conforms": "brightgreen", "conforms in part": "yellowgreen", "does not conform": "red"}


def badge(document: Mapping[str, Any]) -> str:
    """Return a report.json as the JSON of an endpoint badge."""
    summary = document["summary"]
    said = short_verdict(summary)
    shown = {"schemaVersion": 1, "label": "attnspec", "message": said, "color": _COLOURS[summary["conformance"]]}
    return json.dumps(shown) + "\n"
