"""Sources of a target: the files that its code comes from, each with a digest, so that kept results belong to code."""

import ast
import hashlib
import re
import shlex
import sys
import sysconfig
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from attnspec.base.extensions import BUILT_IN
from attnspec.targets.loading import FILE
from attnspec.targets.target import Target

_HARNESS = re.compile(r"attnspec(_\w+)?\b")
"""Packages of the harness, which a target's own files import and do not hold."""

_MAPPED = Path("/proc/self/maps")
"""The files that are mapped into this process, on Linux: libraries of C beside modules."""

_OF_A_LIBRARY = re.compile(r"^\S+ r-xp .*?(/.+)$", re.MULTILINE)
"""A line of it with code."""

_VERY_LARGE = 32 * 1024 * 1024
"""Bytes beyond which a file is a library's, and reading it would take longer than the cases."""


def digests(target: Target) -> dict[str, str]:
    """Return the digest of each file that is a target's own, by name; a library has none. Nothing is imported.

    Of a file or module: itself, and its imports from the same folder, the working folder and wherever else Python
    looks, libraries apart; of a program: the files that its words name, with what its script may read.
    """
    if target.command is not None:
        return by_name(_files_of_program(target.command))
    if target.name in BUILT_IN:
        return {}
    file = FILE.fullmatch(target.name)
    folders = _folders(Path(file["path"]).parent if file else Path())
    begun = [Path(file["path"])] if file else list(_files(folders, target.name.partition(":")[0]))
    return by_name(_imported(folders, begun))


def by_name(files: Iterable[Path]) -> dict[str, str]:
    """Return the digest of each file by its name, which is relative to the working folder where it lies in it."""
    here = Path.cwd()
    named = {
        (path.relative_to(here) if path.is_relative_to(here) else path): path for path in map(here.joinpath, files)
    }
    return {name.as_posix(): digest(path) for name, path in sorted(named.items())}


def loaded_files() -> set[Path]:
    """Return the files of all modules that are loaded in this process, and of mapped libraries."""
    named = [getattr(module, "__file__", None) for module in [*sys.modules.values()]]
    mapped = _MAPPED.read_text("utf-8", "replace") if _MAPPED.is_file() else ""
    files = {*filter(None, named), *_OF_A_LIBRARY.findall(mapped)}
    return {path for file in files if (path := Path(file)).is_file()}


def digest(path: Path) -> str:
    """Return the digest of a file; of a very large one its size and time, and an empty one if it cannot be read."""
    try:
        state = path.stat()
        if state.st_size > _VERY_LARGE:
            return f"{state.st_size} {state.st_mtime_ns}"
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return ""


def _folders(own: Path) -> list[Path]:
    """Return the folders in which a file's imports are looked for: its own, the working folder, those of Python."""
    libraries = {sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    of_python = (entry for entry in sys.path if not any(entry.startswith(library) for library in libraries))
    return list(dict.fromkeys((own, Path(), *(path for entry in of_python if (path := Path(entry)).is_dir()))))


def _files_of_program(command: str) -> list[Path]:
    """Return the files that the words of a program name, and files that a script among them is likely to read.

    Where that is Python, these are its imports; nobody knows them of another language, but those beside it that end
    alike.
    """
    try:
        words = shlex.split(command)
    except ValueError:
        return []
    found = [path for word in words if (path := Path(word)).is_file()]
    # An interpreter's name may end in its version.
    script = next((path for path in found if path.suffix and not path.suffix[1:].isdigit()), None)
    if script is not None:
        is_python = script.suffix == ".py"
        found += _imported(_folders(script.parent), [script]) if is_python else script.parent.glob(f"*{script.suffix}")
    return sorted({*found})


def _imported(folders: Sequence[Path], begun: Iterable[Path]) -> list[Path]:
    """Return files, and all that they import from some folders, however far round."""
    waiting = [path for path in begun if path.is_file()]
    found: dict[Path, None] = {}
    while waiting:
        path = waiting.pop()
        if path not in found:
            found[path] = None
            waiting += [each for name in _names(folders, path) for each in _files(folders, name)]
    return sorted(found)


def _files(folders: Sequence[Path], name: str) -> Iterator[Path]:
    """Give the files that a dotted name loads from the first folder that has it; none for the harness's own."""
    first, *others = name.split(".")
    for folder in () if _HARNESS.match(first) else folders:
        path = folder / first
        if path.with_name(f"{first}.py").is_file() or path.is_dir():
            for part in (*others, ""):
                yield from filter(Path.is_file, (path.with_name(f"{path.name}.py"), path / "__init__.py"))
                path /= part
            return


def _names(folders: Sequence[Path], path: Path) -> Iterator[str]:
    """Give the dotted names that a file imports, as they are called from the folder in which it was found."""
    try:
        tree = ast.parse(path.read_bytes())
    except (SyntaxError, ValueError):
        return
    folder = next((folder for folder in folders if path.is_relative_to(folder)), path.parent)
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            package = path.relative_to(folder).parts[: -node.level] if node.level else ()
            module = [*package, *filter(None, [node.module])]
            yield from (".".join((*module, alias.name)) for alias in node.names)
