"""Index of the search: one entry for everything that has an address, found by its id, its words and public reports."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from attnspec.contract import CONVENTIONS, OPERATIONS
from attnspec_site import addresses
from attnspec_site.content import Content
from attnspec_site.page import issue_name
from attnspec_site.prose import Document

KINDS = (
    "clause",
    "mistake",
    "erratum",
    "operation",
    "convention",
    "implementation",
    "defect",
    "published bug",
    "page",
    "case",
)
"""Kinds of entries, in the order in which they are shown where they fit equally well."""


_BY_ID = {"clause": "clauses", "mistake": "mistakes", "case": "cases"}
"""Kinds whose pages are named by ids, each with their folder."""


class Entry(NamedTuple):
    """An entry of the index: its kind, title and address, and further words by which it is found."""

    kind: str
    title: str
    address: str
    words: str


def search_index(content: Content, documents: Iterable[Document], further: Iterable[Entry] = ()) -> str:
    """Return the index as a script: from a disk no page can read a file of data, but each can run a script."""
    entries = [
        # What is named by its id has its page by that, too.
        [KINDS.index(entry.kind), entry.title, 0 if entry.kind in _BY_ID else entry.address, _joined(entry.words)]
        for entry in (*_entries(content), *_of_documents(documents), *further)
    ]
    return data_script("searchIndex", {"kinds": KINDS, "folders": _BY_ID, "entries": entries})


def data_script(name: str, data: object) -> str:
    """Return a script that gives data to the page, under a name."""
    return f"window.{name} = {json.dumps(data, separators=(',', ':'), ensure_ascii=False)};\n"


def relations_script(content: Content) -> str:
    """Return as a script which case catches which mistake: positions in lists of ids, those of cases as steps."""
    cases = list(content.cases)
    position = {case: index for index, case in enumerate(cases)}
    catching: list[list[int]] = []
    for mistake in content.mistakes:
        found = sorted(position[case] for case in content.caught_by[mistake])
        # Steps from one to the next are shorter than positions.
        catching.append([each - before for before, each in zip([0, *found], found, strict=False)])
    return data_script("relations", {"cases": cases, "mistakes": list(content.mistakes), "catching": catching})


def _entries(content: Content) -> Iterator[Entry]:
    for clause in content.clauses.values():
        yield Entry("clause", clause.id, addresses.of_clause(clause.id), clause.text)
    for mistake in content.mistakes.values():
        source = issue_name(mistake.source) if mistake.source else ""
        words = f"{mistake.sentence} {mistake.engineer} {source} {mistake.source or ''}"
        yield Entry("mistake", mistake.id, addresses.of_mistake(mistake.id), words)
    for erratum in content.errata.values():
        yield Entry("erratum", erratum.id, addresses.of_erratum(erratum.id), erratum.title)
    for name in content.operations:
        yield Entry("operation", name, addresses.of_operation(name), OPERATIONS[name].sentence)
    for name, convention in CONVENTIONS.items():
        yield Entry(
            "convention",
            name,
            f"{addresses.CONVENTIONS}#{name}",
            f"{convention.sentence} {' '.join(convention.choices)}",
        )
    for case in content.cases.values():
        source = case.source.get("url", "")
        yield Entry("case", case.id, addresses.of_case(case.id), f"{case.title} {issue_name(source)}")


def _of_documents(documents: Iterable[Document]) -> Iterator[Entry]:
    for document in documents:
        for section in document.sections:
            title = document.title if section.title == document.title else f"{document.title}: {section.title}"
            anchor = f"#{section.anchor}" if section.anchor else ""
            yield Entry("page", title, document.address + anchor, _words(section.text))


def _joined(words: str) -> str:
    return " ".join(words.split())


def _words(markdown: str) -> str:
    """Return the words of a section without links, tables and emphasis, which no reader searches for."""
    return re.sub(r"\]\([^)]*\)|[`*|\[#]|-{3,}", " ", markdown)
