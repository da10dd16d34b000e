"""Mutants: sources of the reference, each with one change."""

from __future__ import annotations

import ast
import tomllib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import attnspec_reference
from attnspec_authoring.mutation.rules import replacements

if TYPE_CHECKING:
    from collections.abc import Iterator


UNPROVEN = ("attention.paged_latents", "attention.served_attention", "in_blocks")
"""Modules whose mutants survive unread: they compute in layouts or blocks alone, in which no mutant is tried."""


@dataclass(frozen=True)
class Mutant:
    """Mutant: one change of one module, named below ``attnspec_reference``, with its changed source.

    The `id` is ``module.function: before -> after``, the module without its family, with ``#2`` behind it where a
    function holds the same text twice. It stays the same while other functions change.
    """

    id: str
    module: str
    source: str


def all_mutants() -> tuple[Mutant, ...]:
    """Return every mutant of every module that is proven, in a fixed order."""
    proven = [module for module in modules() if not is_unproven(module)]
    return tuple(
        mutant for module in proven for mutant in mutants_of(module, source_of(module).read_text(encoding="utf-8"))
    )


def is_unproven(module: str) -> bool:
    """Say whether the mutants of a module are still without cases or reasons."""
    return module.startswith(UNPROVEN)


def modules() -> tuple[str, ...]:
    """Return the modules of the reference that compute, in alphabetical order."""
    folder = Path(attnspec_reference.__file__).parent
    paths = (path.relative_to(folder) for path in folder.rglob("*.py") if path.name != "__init__.py")
    return tuple(sorted(".".join(path.with_suffix("").parts) for path in paths))


def source_of(module: str) -> Path:
    """Return the file of a module of the reference."""
    return Path(attnspec_reference.__file__).parent.joinpath(*module.split(".")).with_suffix(".py")


def mutants_of(module: str, source: str) -> tuple[Mutant, ...]:
    """Return every mutant of one module."""
    seen: Counter[str] = Counter()
    mutants: list[Mutant] = []
    for function in (node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)):
        for node, after in _changes(function):
            name = f"{module.rpartition('.')[2]}.{function.name}: {ast.unparse(node)} -> {after}"
            seen[name] += 1
            which = f" #{seen[name]}" if seen[name] > 1 else ""
            changed = _spliced(source, node, after if isinstance(node, ast.stmt) else f"({after})")
            mutants.append(Mutant(name + which, module, changed))
    return tuple(mutants)


def _changes(function: ast.FunctionDef) -> Iterator[tuple[ast.expr | ast.stmt, str]]:
    """Yield each node of a function that is replaced, and its replacement text."""
    roots = [default for default in (*function.args.defaults, *function.args.kw_defaults) if default is not None]
    for node in _nodes([*roots, *function.body[1:]]):
        if isinstance(node, ast.Expr | ast.Assign | ast.AnnAssign | ast.Continue):
            yield node, "pass"
        if isinstance(node, ast.If):
            yield node.test, f"not ({ast.unparse(node.test)})"
            yield node.test, "False"
        for replacement in replacements(node):
            assert isinstance(node, ast.expr)
            if ast.unparse(replacement) != ast.unparse(node):
                yield node, ast.unparse(replacement)


def _nodes(nodes: list[ast.expr] | list[ast.stmt] | list[ast.AST]) -> Iterator[ast.AST]:
    """Yield nodes and what is in them; not the wording of errors, and not what NumPy warns about."""
    for node in nodes:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.JoinedStr):
            continue
        yield node
        if isinstance(node, ast.With):
            yield from _nodes(node.body)
        elif isinstance(node, ast.Expr):
            # Without its effect a call for its effect is no statement at all: it is dropped, not replaced.
            yield from _nodes(list(ast.iter_child_nodes(node.value)))
        elif isinstance(node, ast.AnnAssign):
            yield from _nodes([node.value] if node.value is not None else [])
        elif not isinstance(node, ast.Raise):
            yield from _nodes(list(ast.iter_child_nodes(node)))


def _spliced(source: str, node: ast.expr | ast.stmt, text: str) -> str:
    """Replace a node by a text. Columns of the syntax tree count bytes."""
    lines = source.encode().splitlines(keepends=True)
    assert node.end_lineno is not None
    assert node.end_col_offset is not None
    start = sum(map(len, lines[: node.lineno - 1])) + node.col_offset
    end = sum(map(len, lines[: node.end_lineno - 1])) + node.end_col_offset
    whole = source.encode()
    return (whole[:start] + text.encode() + whole[end:]).decode()


Equivalents: TypeAlias = Mapping[str, str]
"""Mutant to the reason why no case can notice it."""

LISTED = Path(__file__).with_name("equivalents.toml")


def read_equivalents(file: Path = LISTED) -> Equivalents:
    """Read tables ``[[equivalent]]`` of a ``reason`` and ids of ``mutants``; `ValueError` if one occurs twice."""
    entries = tomllib.loads(file.read_text(encoding="utf-8")).get("equivalent", [])
    listed = [(mutant, entry["reason"]) for entry in entries for mutant in entry["mutants"]]
    equivalents = dict(listed)
    if len(equivalents) < len(listed):
        raise ValueError(f"{file.name} lists a mutant twice; keep one entry for each.")
    return equivalents
