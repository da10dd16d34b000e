"""Pages of mistakes: the sentence, the code of the patch, who made it in public, and the cases that catch it."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from textwrap import dedent

from attnspec_site import addresses
from attnspec_site.attention.playground_page import examples
from attnspec_site.content import Content
from attnspec_site.page import Page, PageMaker

MOST_CASES = 6
"""Cases that a page lists; of the others it says how many there are, and a script adds them."""

_CATALOGUE = "attnspec_mistakes."
_TABLE = "FUNCTIONS"


def mistake_pages(content: Content, maker: PageMaker) -> Iterator[Page]:
    """Give the page of each mistake, and the page that lists them."""
    sources, playable = _sources(), {example.id for example in examples()}
    for mistake in content.mistakes.values():
        cases = content.caught_by[mistake.id]
        yield maker.page(
            "mistake.html",
            addresses.of_mistake(mistake.id),
            mistake.id,
            mistake=mistake,
            clause=content.clauses[mistake.clause],
            erratum=content.errata[mistake.erratum] if mistake.erratum else None,
            source=sources[mistake.id],
            cases=[content.cases[each] for each in cases[:MOST_CASES]],
            more=max(0, len(cases) - MOST_CASES),
            playable=mistake.id in playable,
        )
    of_operation = {
        operation: [mistake for mistake in content.mistakes.values() if mistake.operation == operation]
        for operation in content.operations
    }
    yield maker.page(
        "mistakes.html",
        addresses.MISTAKES,
        "Mistakes",
        operations={name: mistakes for name, mistakes in of_operation.items() if mistakes},
        count=len(content.mistakes),
        public=sum(mistake.source is not None for mistake in content.mistakes.values()),
    )


@cache
def _sources() -> Mapping[str, str]:
    """Return the code that makes each mistake, by id: its entry, and before it the functions of its module in it."""
    found: dict[str, str] = {}
    for name, module in sorted(sys.modules.items()):
        if name.startswith(_CATALOGUE) and hasattr(module, _TABLE) and module.__file__ is not None:
            table: Mapping[str, object] = getattr(module, _TABLE)
            own, computed = _sources_in(Path(module.__file__).read_text(encoding="utf-8"))
            found |= {mistake: own.get(mistake, computed) for mistake in table}
    return found


def _sources_in(text: str) -> tuple[dict[str, str], str]:
    """Return the code of each entry whose id is written out, and that of all others together."""
    tree = ast.parse(text)
    lines = text.splitlines()
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    table = next(
        node.value
        for node in tree.body
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.target.id == _TABLE
    )
    assert isinstance(table, ast.Dict)
    found: dict[str, str] = {}
    computed: list[str] = []
    for key, value in zip(table.keys, table.values, strict=True):
        parts = [_whole(functions[name], lines) for name in _needed(value, functions)]
        entry = "\n".join(lines[(key or value).lineno - 1 : value.end_lineno])
        code = "\n\n\n".join((*parts, _dedented(entry)))
        if isinstance(key, ast.Constant):
            found[str(key.value)] = code
        else:
            computed.append(code)
    return found, "\n\n\n".join(computed)


def _needed(entry: ast.expr, functions: Mapping[str, ast.stmt]) -> list[str]:
    """Return the functions of the module that an entry uses, also through others, in the order of the module."""
    needed, new = set[str](), _names(entry) & functions.keys()
    while new:
        needed |= new
        new = {name for each in new for name in _names(functions[each]) & functions.keys()} - needed
    return [name for name in functions if name in needed]


def _names(node: ast.AST) -> set[str]:
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}


def _whole(node: ast.stmt, lines: list[str]) -> str:
    """Return the lines of a function with its decorators."""
    assert isinstance(node, ast.FunctionDef | ast.ClassDef)
    first = min((node.lineno, *(each.lineno for each in node.decorator_list)))
    return "\n".join(lines[first - 1 : node.end_lineno])


def _dedented(entry: str) -> str:
    """Return an entry of the table as it stands, but for its indent and the comma behind it."""
    return dedent(entry).rstrip(",")
