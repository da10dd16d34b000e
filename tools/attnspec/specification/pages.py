"""Reading clauses from the operation pages and errata from their page."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from attnspec.locations import errata_page, operation_pages

if TYPE_CHECKING:
    from collections.abc import Mapping

_CLAUSE = re.compile(r"^- `([a-z0-9_.]+)` — (.+(?:\n  +\S.*)*)", re.MULTILINE)
_ERRATUM_SECTION = re.compile(r"^### `(E\d{3}\.[a-z0-9_]+)` — (.+)\n((?:(?!#).*\n?)*)", re.MULTILINE)
_ERRATUM_ROW = re.compile(r"^\| `(E\d{3}\.[a-z0-9_]+)` \| (.+) \|$", re.MULTILINE)


@dataclass(frozen=True)
class Clause:
    """One normative sentence.

    Attributes
    ----------
    id
        Stable id, such as ``sdpa.scale.default``.
    text
        The sentence, on one line.
    page
        File name of the operation page.
    """

    id: str
    text: str
    page: str


@dataclass(frozen=True)
class Erratum:
    """One place at which a source document contradicts itself.

    Attributes
    ----------
    id
        Stable id, such as ``E003.context_broadcast``.
    title
        What is wrong, in a few words.
    text
        The whole entry, as Markdown.
    """

    id: str
    title: str
    text: str


@cache
def clauses() -> Mapping[str, Clause]:
    """Return every clause by id, in the order of the pages."""
    found: dict[str, Clause] = {}
    for page in operation_pages():
        for match in _CLAUSE.finditer(page.read_text(encoding="utf-8")):
            found[match[1]] = Clause(match[1], " ".join(match[2].split()), page.name)
    return found


@cache
def errata() -> Mapping[str, Erratum]:
    """Return every erratum by id, in the order of the page."""
    text = errata_page().read_text(encoding="utf-8")
    found: list[tuple[int, Erratum]] = []
    for match in _ERRATUM_SECTION.finditer(text):
        found.append((match.start(), Erratum(match[1], match[2].strip(), match[3].strip())))
    for match in _ERRATUM_ROW.finditer(text):
        cells = [cell.strip() for cell in match[2].split(" | ")]
        found.append((match.start(), Erratum(match[1], cells[0], "; ".join(cells))))
    return {erratum.id: erratum for _, erratum in sorted(found, key=lambda entry: entry[0])}
