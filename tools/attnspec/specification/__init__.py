"""The spec pages as data: every clause and every erratum, by id.

The Markdown pages are the single source; nothing here repeats their words.
"""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from attnspec.base.files import ERRATA_PAGE, OPERATION_PAGES

_CLAUSE = r"^- `([a-z0-9_.]+)` — (.+(?:\n  +\S.*)*)"
_ERRATUM_SECTION = r"^### `(E\d{3}\.[a-z0-9_]+)` — (.+)\n((?:(?!#).*\n?)*)"
_ERRATUM_ROW = r"^\| `(E\d{3}\.[a-z0-9_]+)` \| (.+) \|$"


def operation_pages() -> tuple[Path, ...]:
    """Return the pages of the operations, in alphabetical order."""
    return tuple(sorted(OPERATION_PAGES.glob("*/*.md"), key=lambda page: page.name))


@dataclass(frozen=True)
class Clause:
    """One normative sentence on one line, with its id (``sdpa.scale.default``) and page (``attention/softmax.md``)."""

    id: str
    text: str
    page: str


@dataclass(frozen=True)
class Erratum:
    """One contradiction in a source document, with its id (``E003.context_broadcast``) and whole entry as Markdown."""

    id: str
    title: str
    text: str


@cache
def clauses() -> Mapping[str, Clause]:
    """Return every clause by id, in the order of the pages."""
    found: dict[str, Clause] = {}
    for page in operation_pages():
        for match in re.finditer(_CLAUSE, page.read_text(encoding="utf-8"), re.MULTILINE):
            found[match[1]] = Clause(match[1], " ".join(match[2].split()), f"{page.parent.name}/{page.name}")
    return found


def page_title(page: str) -> str:
    """Return the heading of an operation page, named as in `Clause.page`."""
    path = next(path for path in operation_pages() if f"{path.parent.name}/{path.name}" == page)
    return path.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")


def clause_text(clause_id: str) -> str:
    """Return the words of a clause; for an id of another version of the spec, where to look."""
    clause = clauses().get(clause_id)
    return clause.text if clause else "see the spec"


def specification_digest() -> str:
    """Return the SHA-256 of the ids and words of all clauses; their explanations do not count."""
    lines = sorted(f"{clause.id} {clause.text}\n" for clause in clauses().values())
    return hashlib.sha256("".join(lines).encode()).hexdigest()


@cache
def errata() -> Mapping[str, Erratum]:
    """Return every erratum by id, in the order of the page."""
    text = ERRATA_PAGE.read_text(encoding="utf-8")
    found: list[tuple[int, Erratum]] = []
    for match in re.finditer(_ERRATUM_SECTION, text, re.MULTILINE):
        found.append((match.start(), Erratum(match[1], match[2].strip(), match[3].strip())))
    for match in re.finditer(_ERRATUM_ROW, text, re.MULTILINE):
        cells = [cell.strip() for cell in match[2].split(" | ")]
        found.append((match.start(), Erratum(match[1], cells[0], "; ".join(cells))))
    return {erratum.id: erratum for _, erratum in sorted(found, key=lambda entry: entry[0])}
