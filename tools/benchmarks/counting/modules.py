"""Modules of Python, and the imports between them: who imports whom, in which circles, and how high it is stacked."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Graph = dict[str, set[str]]
"""Name to the names that it imports."""


@dataclass(frozen=True)
class Module:
    """A file of Python in a package.

    `path`: from the root of the checkout; `name`: dotted, as it is imported; a room has the name of its
    ``__init__.py``; `text`: what it says.
    """

    path: str
    name: str
    text: str

    @cached_property
    def tree(self) -> ast.Module:
        """Its syntax."""
        return ast.parse(self.text)

    @property
    def lines(self) -> int:
        """How many lines it has."""
        return self.text.count("\n")

    @property
    def is_door(self) -> bool:
        """Whether it is the ``__init__.py`` of a room."""
        return self.path.endswith("/__init__.py")

    @property
    def folder(self) -> str:
        """The room that it lies in."""
        return str(PurePosixPath(self.path).parent)

    @property
    def drawn_room(self) -> str:
        """The folder or lone module right inside its package; the package itself for its ``__init__.py``."""
        return ".".join(self.name.split(".")[:2])


def imports(modules: Sequence[Module]) -> Graph:
    """Return who imports whom, by dotted names: a module where the name that is imported is one, else what holds it."""
    known = {module.name for module in modules}
    graph: Graph = {}
    for module in modules:
        found: set[str] = set()
        for node in ast.walk(module.tree):
            if isinstance(node, ast.Import):
                found |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                holder = holder_of(node, module)
                found |= {name if (name := f"{holder}.{alias.name}") in known else holder for alias in node.names}
        graph[module.name] = (found & known) - {module.name}
    return graph


def holder_of(node: ast.ImportFrom, module: Module) -> str:
    """Return the dotted name after ``from``, made absolute."""
    above = module.name.split(".")
    above = above[: len(above) - node.level + module.is_door] if node.level else []
    return ".".join([*above, *([node.module] if node.module else [])])


def between(rooms: Mapping[str, str], graph: Graph) -> Graph:
    """Return which room imports which, given the room of each module."""
    found: Graph = {room: set() for room in rooms.values()}
    for name, targets in graph.items():
        found[rooms[name]] |= {rooms[target] for target in targets} - {rooms[name]}
    return found


def components(graph: Graph) -> dict[str, frozenset[str]]:
    """Return for each node the nodes of its circle: those that it leads to and that lead back, itself among them."""
    reached: Graph = {}
    for start in graph:
        seen, ahead = set[str](), [start]
        while ahead:
            new = graph[ahead.pop()] - seen
            seen |= new
            ahead += new
        reached[start] = seen
    return {node: frozenset({node, *(other for other in reached[node] if node in reached[other])}) for node in graph}


def circles(graph: Graph) -> list[list[str]]:
    """Return the sets of nodes that import each other, however far round."""
    return sorted(sorted(nodes) for nodes in set(components(graph).values()) if len(nodes) > 1)


def floors(graph: Graph) -> int:
    """Return how many nodes the longest chain of imports has, where a circle counts as one."""
    circle = components(graph)

    @cache
    def height(nodes: frozenset[str]) -> int:
        below = {circle[target] for node in nodes for target in graph[node]} - {nodes}
        return 1 + max(map(height, below), default=0)

    return max(map(height, circle.values()), default=0)
