"""Glossary of the page: the clauses, mistakes and errata that its results name."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from attnspec.cases import Case, Suite
from attnspec.grading import WRONG
from attnspec.specification import clauses, errata, page_title
from attnspec.specification.clause_links import clause_link
from attnspec_mistakes import CATALOGUE, rarer_mistakes

_LEADS_TO = (
    (re.compile(r"https?://[^\s<>\"]+"), "{0}"),
    (re.compile(r"arXiv:(\d{4}\.\d{4,5}(?:v\d+)?)"), "https://arxiv.org/abs/{1}"),
    (re.compile(r"([\w.-]+/[\w.-]+)#(\d+)"), "https://github.com/{1}/issues/{2}"),
)
"""Pattern of a source that can be opened, and its address."""


def glossary(documents: Sequence[Mapping[str, Any]], suite: Suite, detailed: Sequence[str]) -> dict[str, Any]:
    """Return clauses, mistakes and errata by id, and titles of the spec pages on which the clauses stand.

    `suite` names the mistakes that its cases are there to catch; `detailed` holds ids of further cases to draw.
    """
    results = [result for document in documents for result in document["results"]]
    diagnoses = [entry for document in documents for entry in document["diagnosis"]]
    looked_at = {result["case"] for result in results if result["status"] in WRONG} | set(detailed)
    cases = [suite.cases[case_id] for case_id in sorted(looked_at) if case_id in suite.cases]
    mistakes = _mistakes(diagnoses, cases)
    found = [*mistakes.values(), *diagnoses]
    of_clauses = _named("clauses", results, cases) | {entry["clause"] for entry in found if entry["clause"]}
    of_clauses |= {suspect["clause"] for entry in diagnoses for suspect in entry.get("suspects", ())}
    of_errata = _named("errata", results, cases) | {entry["erratum"] for entry in found if entry["erratum"]}
    known = {name: clause for name, clause in clauses().items() if name in of_clauses}
    return {
        "clauses": {
            name: {"text": clause.text, "page": clause.page, "link": clause_link(name, files=True)}
            for name, clause in known.items()
        },
        "pages": {page: page_title(page) for page in dict.fromkeys(clause.page for clause in known.values())},
        "mistakes": mistakes,
        "errata": {
            name: {"title": erratum.title, "text": erratum.text}
            for name, erratum in errata().items()
            if name in of_errata
        },
    }


def sources(words: Iterable[str]) -> list[list[str | None]]:
    """Return the sources of a case or a mistake, each with its address (web, arXiv, GitHub) or None."""

    def address(text: str) -> str | None:
        found = ((written.fullmatch(text), leads_to) for written, leads_to in _LEADS_TO)
        return next((leads_to.format(match[0], *match.groups()) for match, leads_to in found if match), None)

    return [[text, address(text)] for text in words]


def _named(what: str, results: Iterable[Mapping[str, Any]], cases: Iterable[Case]) -> set[str]:
    named = {name for result in results for name in result[what]}
    return named | {name for case in cases for name in getattr(case, what)}


def _mistakes(diagnoses: Iterable[Mapping[str, Any]], cases: Iterable[Case]) -> dict[str, dict[str, Any]]:
    """Return the mistakes that a diagnosis weighs or that a case which went wrong is there to catch, by id.

    Mistakes of a report of another version that the catalogue does not know are left out.
    """
    named = {target for case in cases for target in case.targets}
    for entry in diagnoses:
        weighed = (entry, *entry.get("candidates", ()), *entry.get("suspects", ()))
        named |= {found["mistake"] for found in weighed if found.get("mistake")} | set(entry.get("same", ()))
    return {
        mistake.id: {
            "operation": mistake.operation,
            "clause": mistake.clause,
            "sentence": mistake.sentence,
            "engineer": mistake.engineer,
            "remedy": mistake.remedy,
            "erratum": mistake.erratum,
            "sources": sources([mistake.source] if mistake.source else []),
        }
        for mistake in (*CATALOGUE, *rarer_mistakes())
        if mistake.id in named
    }
