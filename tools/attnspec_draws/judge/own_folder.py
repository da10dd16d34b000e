"""Folder of a candidate: its files as they were before any was started, and the harness that calls it, by another name.

All is read before the first candidate is started, and written just before its own start: no other candidate has seen
the folder, and what one does to the files of another comes too late. No module, path or argument there has the name of
this package: code that looks for its examiner does not find it by that.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

from attnspec.targets import loading
from attnspec.targets.target import Target

_ROOM = 2**26
"""Bytes of a candidate's folder that are copied, Python first: what is beyond is linked."""

_MANY = 2_000
"""Files of a folder below a candidate's that are copied: of a larger one, such as an environment, a link is made."""

HARNESS = "answerer"
"""Name of the harness where a candidate can see it: a plain word, and so rare that it is found again in messages."""

_OWN_NAME = re.compile(rb"\battnspec\b")

_SERVING = """\
import sys
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec

sys.path.insert(0, {library!r})


class Shared(MetaPathFinder, Loader):
    names = {{"attn" + "spec" + name: {harness!r} + name for name in (".base.errors", ".contract.implementation")}}

    def find_spec(self, name, path=None, target=None):
        return ModuleSpec(name, self) if name in self.names else None

    def create_module(self, spec):
        return import_module(self.names[spec.name])

    def exec_module(self, module):
        pass


sys.meta_path.insert(0, Shared())
sys.exit(import_module({serving!r}).main())
"""
"""The program that is started. A candidate may import this package, such as for `Unsupported`: classes that it and the
harness have in common are then the same."""


@dataclass(frozen=True)
class OwnFolder:
    """Content of a candidate's folder, of Python in a file: paths to bytes, and to what they are links to.

    `file` and `attribute` are those of its target, the file by its name in the folder.
    """

    target: Target
    file: str
    attribute: str
    contents: Mapping[str, bytes] = field(repr=False)
    links: Mapping[str, Path]

    def write(self, folder: Path, target: Target) -> tuple[Target, Sequence[str]]:
        """Write it, and the harness, into an empty folder; return `target` there, and how Python is to serve it."""
        library, own = folder / "library", folder / "files"
        for below, contents in ((library / HARNESS, _harness()), (own, self.contents)):
            for name, content in contents.items():
                path = below / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)
        for name, to in self.links.items():
            (own / name).symlink_to(to)
        serving = folder / "serve.py"
        program = _SERVING.format(library=str(library), harness=HARNESS, serving=f"{HARNESS}.process.serving")
        serving.write_text(program, "utf-8")
        return replace(target, python=f"{own / self.file}{self.attribute}"), ["-P", str(serving)]

    def as_named(self, message: str, folder: Path) -> str:
        """Return a message from its process with the names by which its user knows the files, and this package."""
        own = self.target.name.removesuffix(self.attribute).removesuffix(self.file)
        return message.replace(f"{folder / 'files'}/", own).replace(HARNESS, "attnspec")


def own_folder_of(target: Target) -> OwnFolder | None:
    """Read the files of a candidate; None where it is no file of Python."""
    named = loading.FILE.fullmatch(target.name) if isinstance(target.python, str) else None
    if named is None:
        return None
    path = Path(named["path"]).resolve()
    contents, links = {path.name: path.read_bytes()}, dict[str, Path]()
    room = _ROOM
    others = [entry for entry in path.parent.iterdir() if entry != path and entry.name != "__pycache__"]
    for entry in sorted(others, key=lambda entry: (entry.suffix != ".py", entry.is_dir(), entry.name)):
        found = None if entry.name.startswith(".") else _read(entry, room)
        if found is None:
            links[entry.name] = entry
        else:
            contents |= {str(Path(entry.name) / name): content for name, content in found.items()}
            room -= sum(map(len, found.values()))
    return OwnFolder(target, path.name, target.name[len(named["path"]) :], contents, links)


def _read(entry: Path, room: int) -> Mapping[str, bytes] | None:
    """Read a file, or all files of a folder; None where that is more than there is room for, or cannot be read."""
    found: dict[str, bytes] = {}
    try:
        for path in _files(entry):
            room -= path.stat().st_size
            if room < 0 or len(found) == _MANY:
                return None
            found[str(path.relative_to(entry))] = path.read_bytes()
    except OSError:
        return None
    return found


def _files(entry: Path) -> Iterator[Path]:
    """Give a file, or the files of a folder and below it, but for compiled ones."""
    if entry.is_file():
        yield entry
    elif entry.is_dir() and not entry.is_symlink():
        yield from (path for path in entry.rglob("*") if path.is_file() and path.parent.name != "__pycache__")


@cache
def _harness() -> Mapping[str, bytes]:
    """Read this package, with another name wherever its own stands: by then no candidate was started."""
    package = Path(loading.__file__).parents[1]
    return {
        str(path.relative_to(package)): _OWN_NAME.sub(HARNESS.encode(), path.read_bytes())
        for path in package.rglob("*")
        if path.suffix in (".py", ".json", ".toml")
    }


def read_all(targets: Collection[Target]) -> list[OwnFolder | None]:
    """Read the files of every candidate, and the harness."""
    _harness()
    return [own_folder_of(target) for target in targets]


_OF_SHELL = ("_", "OLDPWD", "PWD")
"""Variables of the shell that started the judge: its command, and folders that can have the name of this package."""


def environment_of(variables: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of a candidate: without variables that name this package, or say where a shell was."""
    return {
        name: value for name, value in variables.items() if "attnspec" not in name.lower() and name not in _OF_SHELL
    }
