"""HTML page of a report: one file, one template, no request to anywhere."""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attnspec.base.errors import UsageError
from attnspec.reports.html.data import page_data
from attnspec.reports.html.harmless import as_island

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from attnspec.cases import Suite

MOST_DETAILED = 20
"""Cases that may be asked for beside the failing ones."""

_HERE = Path(__file__).parent
_SCRIPTS = (
    "elements.js",
    "heatmaps.js",
    "attended.js",
    "model.js",
    "links.js",
    "overview.js",
    "cases.js",
    "detail.js",
    "glossary.js",
    "page.js",
)


def html_page(
    documents: Sequence[Mapping[str, Any]],
    names: Sequence[str],
    suite: Suite,
    *,
    detailed: Sequence[str] = (),
    notes: Sequence[str] = (),
) -> str:
    """Return the HTML page for one report or several; it needs no other file and executes none of its data.

    `suite` holds all golden cases. `detailed` are ids of at most 20 further cases to draw, else or if unknown
    `UsageError`; `notes` are sentences for the top of the page.
    """
    if len(detailed) > MOST_DETAILED:
        raise UsageError(f"The page draws at most {MOST_DETAILED} further cases; {len(detailed)} are asked for.")
    for case_id in detailed:
        if case_id not in suite.cases:
            from attnspec.cases import near

            raise UsageError(f"There is no case {case_id!r}.{near(case_id, suite.cases)}")
    style = _text("page.css")
    script = "".join(_text(name) for name in _SCRIPTS)
    policy = f"default-src 'none'; script-src {_hash(script)}; style-src {_hash(style)}; base-uri 'none'"
    page = _text("page.html")
    for mark, text in (
        ("@POLICY@", f"{policy}; form-action 'none'"),
        ("@STYLE@", style),
        ("@SCRIPT@", script),
        ("@DATA@", as_island(page_data(documents, names, suite, detailed=detailed, notes=notes))),
    ):
        before, _, after = page.partition(mark)
        page = before + text + after
    return page


def _text(name: str) -> str:
    return (_HERE / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    """Return the source expression that allows exactly this inline text."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
