"""Addresses of the site's pages, which last: the id of a clause, case or mistake is the name of its page."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePosixPath

from attnspec.specification.clause_links import clause_page
from attnspec_site.content import Content

SEARCH, CASES, MISTAKES, CLAUSES = "search.html", "cases/index.html", "mistakes/index.html", "clauses/index.html"
ERRATA, CONVENTIONS, SPECIFICATION = "spec/errata.html", "conventions.html", "spec/index.html"
IMPLEMENTATIONS, DEFECTS = "implementations/index.html", "implementations/defects.html"
PUBLISHED, PLAYGROUND = "published.html", "playground.html"


def of_case(case: str) -> str:
    """Return the address of a case's page."""
    return f"cases/{case}.html"


def of_clause(clause: str) -> str:
    """Return the address of a clause's own page."""
    return clause_page(clause)


def of_mistake(mistake: str) -> str:
    """Return the address of a mistake's page."""
    return f"mistakes/{mistake}.html"


def of_erratum(erratum: str) -> str:
    """Return where an erratum stands on the page of errata."""
    return f"{ERRATA}#{erratum}"


def of_operation(operation: str) -> str:
    """Return the address of the page that lists the cases of an operation."""
    return f"operations/{operation}.html"


def of_implementation(name: str, release: str) -> str:
    """Return the address of the page of one version of an implementation."""
    return f"implementations/{name}/{release}.html"


def of_document(path: PurePosixPath) -> str:
    """Return the address of a Markdown page or notebook, by its path in the repository."""
    is_index = path.name == "README.md" and len(path.parts) > 1
    name = "index.html" if is_index else f"{path.stem}.html"
    return (path.parent / name).as_posix()


def to_root(address: str) -> str:
    """Return what leads from a page to the root of the site, with a slash at the end; empty on pages of the root."""
    return "../" * address.partition("#")[0].count("/")


@dataclass(frozen=True)
class Links:
    """Links by id to pages that this site has."""

    content: Content

    def of_id(self, word: str) -> str | None:
        """Return the address of the page of a clause, mistake, erratum or case; None where there is none."""
        content = self.content
        if word in content.clauses:
            return of_clause(word)
        if word in content.mistakes:
            return of_mistake(word)
        if word in content.errata:
            return of_erratum(word)
        return of_case(word) if word in content.cases else None
