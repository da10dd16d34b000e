"""Pages of clauses and conventions: what binds or may be chosen, and the cases and mistakes that belong to it."""

from __future__ import annotations

from collections.abc import Iterator

from markupsafe import Markup

from attnspec.contract import CONVENTIONS, OPERATIONS
from attnspec.specification import page_title
from attnspec_site import addresses
from attnspec_site.content import Content
from attnspec_site.implementation_pages import Table, of_version
from attnspec_site.page import Page, PageMaker
from attnspec_site.prose import Prose


def clause_pages(content: Content, table: Table, maker: PageMaker, prose: Prose) -> Iterator[Page]:
    """Give the page of each clause, the page that lists them, and the page of conventions."""
    for clause in content.clauses.values():
        address = addresses.of_clause(clause.id)
        root = addresses.to_root(address)
        cases = [content.cases[case] for case in content.cases_of_clause.get(clause.id, ())]
        yield maker.page(
            "clause.html",
            address,
            clause.id,
            clause=clause,
            text=Markup(prose.inline(clause.text, root)),
            page_title=page_title(clause.page),
            page=f"spec/operations/{clause.page.removesuffix('.md')}.html#{clause.id}",
            mistakes=[content.mistakes[each] for each in content.mistakes_of_clause.get(clause.id, ())],
            cases=sorted(cases, key=lambda case: (case.profile != "documents", len(case.clauses), case.id)),
            failing=table.failing(content.cases_of_clause.get(clause.id, ())),
            newest=table.newest,
            of_version=of_version,
        )
    pages = dict.fromkeys(clause.page for clause in content.clauses.values())
    yield maker.page(
        "clauses.html",
        addresses.CLAUSES,
        "Clauses",
        pages={
            page_title(page): [clause for clause in content.clauses.values() if clause.page == page] for page in pages
        },
        count=len(content.clauses),
    )
    yield maker.page(
        "conventions.html",
        addresses.CONVENTIONS,
        "Conventions",
        conventions={
            name: (convention, [each.name for each in OPERATIONS.values() if name in each.conventions])
            for name, convention in CONVENTIONS.items()
        },
        sentences={name: Markup(prose.inline(convention.sentence, "")) for name, convention in CONVENTIONS.items()},
        following={name: table.following(name) for name in CONVENTIONS},
        measured=len(table.newest),
        cases={name: sum(name in case.conventions for case in content.cases.values()) for name in CONVENTIONS},
    )


def beside_clause(content: Content, table: Table, clause: str, root: str) -> str:
    """Return what stands beside a clause on the page of its operation: a link to its own page."""
    cases, mistakes = len(content.cases_of_clause.get(clause, ())), len(content.mistakes_of_clause.get(clause, ()))
    said = f"{_counted(cases, 'case')}, {_counted(mistakes, 'mistake')}"
    if failing := table.failing(content.cases_of_clause.get(clause, ())):
        said += f"; cases fail in {', '.join(failing)}"
    return f' <a class="refs" href="{root}{addresses.of_clause(clause)}">{said}</a>'


def beside_erratum(content: Content, erratum: str, root: str) -> str:
    """Return what stands beside an erratum: links to the mistakes that make it and the cases that bear on it."""
    links = [
        f'<a href="{root}{address(each)}">{each}</a>'
        for relation, address in (
            (content.mistakes_of_erratum, addresses.of_mistake),
            (content.cases_of_erratum, addresses.of_case),
        )
        for each in relation.get(erratum, ())
    ]
    return f'<span class="refs">{" · ".join(links)}</span>' if links else '<span class="refs"></span>'


def _counted(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"
