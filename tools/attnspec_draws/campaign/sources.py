"""Files of a target, and their digests: outcomes of other code are no results of this one."""

from __future__ import annotations

import ast
import hashlib
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from attnspec.base.extensions import BUILT_IN
from attnspec.targets.loading import FILE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from attnspec.targets.target import Target


def digests(target: Target) -> dict[str, str]:
    """Return the digest of each file that is a target's own, by name; a library has none.

    Of a file or module: itself, and its imports from the same folder; of a program: the files that its words name.
    """
    if target.command is not None:
        found = [Path(word) for word in _words(target.command)]
        return {path.as_posix(): _digest(path) for path in found if path.is_file()}
    if target.name in BUILT_IN:
        return {}
    file = FILE.fullmatch(target.name)
    folder = Path(file["path"]).parent if file else Path()
    begun = [Path(file["path"])] if file else list(_files(folder, target.name.partition(":")[0]))
    return {path.relative_to(folder).as_posix(): _digest(path) for path in _imported(folder, begun)}


def _words(command: str) -> list[str]:
    try:
        return shlex.split(command)
    except ValueError:
        return []


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _imported(folder: Path, begun: list[Path]) -> list[Path]:
    """Return files, and all that they import from a folder, however far round."""
    waiting = [path for path in begun if path.is_file()]
    found: dict[Path, None] = {}
    while waiting:
        path = waiting.pop()
        if path not in found:
            found[path] = None
            waiting += [each for name in _names(folder, path) for each in _files(folder, name)]
    return sorted(found)


def _files(folder: Path, name: str) -> Iterator[Path]:
    """Give the files that a dotted name loads from a folder."""
    parts = name.split(".")
    for count in range(1, len(parts) + 1):
        place = folder.joinpath(*parts[:count])
        yield from filter(Path.is_file, (place.parent / f"{place.name}.py", place / "__init__.py"))


def _names(folder: Path, path: Path) -> Iterator[str]:
    """Give the dotted names that a file imports, as they are called from a folder."""
    try:
        tree = ast.parse(path.read_bytes())
    except (SyntaxError, ValueError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            package = path.relative_to(folder).parts[: -node.level] if node.level else ()
            module = [*package, *filter(None, [node.module])]
            yield from (".".join((*module, alias.name)) for alias in node.names)
