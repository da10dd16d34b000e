"""The size and order of the code base: files, lines, words, rooms, functions, imports, and the path of one case.

``python tools/benchmarks/house.py`` prints each figure beside that of the review, that of commit 84ed001b, its ceiling
and its goal, which stand in ``house_bounds.toml``. ``--json`` prints the figures and what they were counted from;
``--root DIR`` counts another checkout; ``--write`` writes ``spec/studies/house.md``. ``counting/running.py`` measures
what runs. Only tracked files count, as they lie in the folder.

A *shipped* package is a folder with ``__init__.py`` that ``only-include`` of the wheel names in pyproject.toml; a
*validating* one is a shipped one under ``tools/``. A *room* is a folder with ``__init__.py``, a *module* any other file
of Python in it. Imports are drawn between *drawn rooms*: the folders and lone modules right inside a package; every
import is an arrow, under TYPE_CHECKING and inside functions too. Lines are line ends, words are what space separates.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
import subprocess
import tomllib
from collections import Counter
from functools import cached_property
from itertools import chain
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from counting import running
from counting.modules import Module, between, circles, floors, imports

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

ROOT = Path(__file__).resolve().parents[2]
BOUNDS = Path(__file__).with_name("house_bounds.toml")
STUDY = ROOT / "spec" / "studies" / "house.md"
BEFORE = "84ed001b"
"""The commit that the review saw, and to which these counts were fitted."""

COLUMNS = {"review": "review", "before": BEFORE, "ceiling": "ceiling", "goal": "goal"}
VALIDATOR = "attnspec"

STUDIES = ("spec/studies/", "spec/measurements/")
"""Where results of programs stand; until 84ed001b they were called measurements."""

STRANGERS = ("tests/examples/batch_", "tests/strangers/")
"""Where code of strangers lies that is kept as they wrote it; what is packed into an archive is no file of Python."""

DATA = {".json", ".toml", ".md", ".txt", ".csv", ".yaml", ".yml"}
"""Data that people write, inside a shipped package. The page of a report (HTML, CSS, JavaScript) is code."""

COMPUTED = {"noticed.json", "kill_matrix.json", "judged.json", "labelled_mistakes.json"}
"""Data that a command writes (`attnspec mistakes`), under the names of 84ed001b and of design.md."""

OPTIONS = {
    *("target", "command", "operation", "bare_operation", "renames", "device", "tensors", "layout", "backward"),
    *("without", "conventions", "timeout", "start_timeout", "isolate", "show_stderr", "transcript"),
}
"""Options that say what a target is and how it is reached: those of `open_target`, and the conventions it follows."""

MANY_OPTIONS = 5
SHORT_BODY = 3
SMALL_MODULE = 80
"""From so many options on a signature or a call spells them out; up to so many lines a body is short, below so many a
module is small.
The three are those of the review."""

SECTIONS = re.compile(r"^(Parameters|Attributes)\n-{3,}$", re.MULTILINE)
"""Sections of NumPy style; docstrings with one of these two are those that the review counted."""


ABOUT = """
Counted at commit {commit} of {date} by `python tools/benchmarks/house.py --write`; the program says what each figure
means. `tools/benchmarks/house_bounds.toml` has the ceilings, which a test holds. The review is the one of 84ed001b that
wanted a lighter house; an empty field is a figure that it does not give. How the counts were fitted to it:

- 44.6 MB are the tracked files with 4,096 bytes for each folder, as `du -sb` adds them up; without, it was 42.7 MB.
- 909 functions were named once among all 2,881; among the 1,312 of at most three lines it was 318.
- 565 docstrings had the section Parameters or Attributes; 90 more had Raises or Returns alone.
- The gate runs a function in a process that it forks; both processes count. 36,600 lines are nearest to 36,627: the
  gate's own process, for one case of `core/` without probes.
- 15 rooms were drawn rooms, in which a lone module beside the folders is a room too; 51 modules were those without
  `attnspec/__init__.py`, whose one function is among the 247. Changes go from call to call in `attnspec`, in the second
  `validate` of a process; comprehensions and generators are no functions. Of folders there were 10, and 307 changes.
- 24 spots were signatures, calls and classes; a tuple or a dictionary of names is none.
"""


class Checkout:
    """A checkout of the suite, read once.

    `root`: its folder, which git knows; `tracked`: paths of all tracked files that are there.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        listed = git(root, "ls-files", "-z").split("\0")
        self.tracked = [path for path in listed if path and (root / path).is_file()]

    def inside(self, *folders: str) -> list[str]:
        """Return the tracked files whose path begins so."""
        return [path for path in self.tracked if path.startswith(folders)]

    def lines(self, paths: Iterable[str]) -> int:
        """Return how many lines files have together."""
        return sum((self.root / path).read_bytes().count(b"\n") for path in paths)

    def words(self, paths: Iterable[str]) -> int:
        """Return how many words files have together."""
        return sum(len((self.root / path).read_text(encoding="utf-8").split()) for path in paths)

    @cached_property
    def included(self) -> tuple[str, ...]:
        """What the wheel brings beside golden files and pages."""
        project = tomllib.loads((self.root / "pyproject.toml").read_text(encoding="utf-8"))
        paths = project["tool"]["hatch"]["build"]["targets"]["wheel"]["only-include"]
        return tuple(path for path in paths if not f"{path}/".startswith(("golden/", "spec/")))

    @cached_property
    def shipped(self) -> tuple[str, ...]:
        """The folders of the packages among it."""
        return tuple(path for path in self.included if f"{path}/__init__.py" in self.tracked)

    @cached_property
    def validating(self) -> tuple[str, ...]:
        """The folders of those that lie under ``tools/``."""
        return tuple(path for path in self.shipped if path.startswith("tools/"))

    @cached_property
    def modules(self) -> list[Module]:
        """The files of Python in every package under ``tools/`` and ``reference_impl/``, those not shipped too."""
        doors = [path for path in self.inside("tools/", "reference_impl/") if path.endswith("/__init__.py")]
        packages = sorted({"/".join(path.split("/")[:2]) for path in doors})
        return [self._module(path) for path in python(self.inside(*(f"{package}/" for package in packages)))]

    def modules_of(self, packages: Sequence[str]) -> list[Module]:
        """Return those in some packages."""
        folders = tuple(f"{package}/" for package in packages)
        return [module for module in self.modules if module.path.startswith(folders)]

    def _module(self, path: str) -> Module:
        parts = PurePosixPath(path).with_suffix("").parts[1:]
        text = (self.root / path).read_text(encoding="utf-8")
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        return Module(path, name, text)


def git(root: Path, *words: str) -> str:
    """Return what git prints of a checkout."""
    done = subprocess.run(["git", "-C", str(root), *words], check=True, capture_output=True, text=True)
    return done.stdout


def python(paths: Iterable[str]) -> list[str]:
    """Return those that are files of Python."""
    return [path for path in paths if path.endswith(".py")]


def files_and_words(checkout: Checkout) -> dict[str, int]:
    """Count what is tracked, what the wheel brings, and the pages."""
    outside = [path for path in checkout.tracked if not path.startswith("golden/")]
    wheel = [
        path for path in checkout.tracked if f"{path}/".startswith(tuple(f"{part}/" for part in checkout.included))
    ]
    pages = [path for path in checkout.inside("spec/") if path.endswith(".md")]
    studies = [path for path in pages if path.startswith(STUDIES)]
    data = [path for path in map(PurePosixPath, wheel) if path.suffix in DATA and path.name not in COMPUTED]
    return {
        "tracked_files": len(outside),
        "tracked_bytes": sum((checkout.root / path).lstat().st_size for path in checkout.tracked),
        "python_files": len(python(outside)),
        "python_lines": checkout.lines(python(outside)),
        "strangers_lines": checkout.lines(python(checkout.inside(*STRANGERS))),
        "wheel_files": len(python(wheel)),
        "wheel_lines": checkout.lines(python(wheel)),
        "wheel_data_lines": checkout.lines(map(str, data)),
        "spec_words": checkout.words(pages) - checkout.words(studies),
        "study_words": checkout.words(studies),
    }


def rooms(modules: Sequence[Module]) -> tuple[dict[str, int], dict[str, list[str]]]:
    """Count rooms and their modules."""
    inside = Counter(module.folder for module in modules if not module.is_door)
    [(largest, most)] = inside.most_common(1)
    longest = max(modules, key=lambda module: module.lines)
    figures = {
        "rooms": sum(module.is_door for module in modules),
        "most_modules_in_a_room": most,
        "longest_module": longest.lines,
    }
    return figures, {"the room with most modules": [largest], "the longest module": [longest.path]}


def functions(modules: Sequence[Module]) -> dict[str, int]:
    """Count functions and modules of the validating packages.

    A body's docstring is no part of it. A function is named once where its name occurs once in the packages, as a name
    or an attribute, beside its definition; an import is no use of it.
    """
    nodes = list(chain.from_iterable(ast.walk(module.tree) for module in modules))
    defined = [node for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    documented = [*defined, *(node for node in nodes if isinstance(node, ast.ClassDef | ast.Module))]
    named = Counter(node.id for node in nodes if isinstance(node, ast.Name))
    named += Counter(node.attr for node in nodes if isinstance(node, ast.Attribute))
    short = [node for node in defined if body_lines(node) <= SHORT_BODY]
    inside = [module for module in modules if not module.is_door]
    names = Counter(module.name.rpartition(".")[2] for module in inside)
    return {
        "functions": len(defined),
        "short_functions": len(short),
        "functions_named_once": sum(named[node.name] == 1 for node in defined),
        "short_functions_named_once": sum(named[node.name] == 1 for node in short),
        "small_modules": sum(module.lines < SMALL_MODULE for module in inside),
        "module_names_used_again": sum(count > 1 for count in names.values()),
        "docstrings_with_sections": sum(bool(SECTIONS.search(ast.get_docstring(node) or "")) for node in documented),
    }


def body_lines(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Return how many lines a function has below its docstring."""
    body = node.body if ast.get_docstring(node) is None else node.body[1:]
    return (body[-1].end_lineno or 0) - body[0].lineno + 1 if body else 0


def option_signatures(modules: Iterable[Module]) -> list[str]:
    """Return where five or more options of a target are spelt out, by a signature, a call, or the fields of a class."""
    return [
        f"{module.path}:{node.lineno}"
        for module in modules
        for node in ast.walk(module.tree)
        if isinstance(node, ast.stmt | ast.expr) and len(OPTIONS & spelt_out(node)) >= MANY_OPTIONS
    ]


def spelt_out(node: ast.AST) -> set[str | None]:
    """Return the names of parameters, of keywords or of annotated fields."""
    match node:
        case ast.FunctionDef(args=taken) | ast.AsyncFunctionDef(args=taken):
            return {argument.arg for argument in (*taken.posonlyargs, *taken.args, *taken.kwonlyargs)}
        case ast.Call(keywords=keywords):
            return {keyword.arg for keyword in keywords}
        case ast.ClassDef(body=body):
            return {
                line.target.id for line in body if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name)
            }
        case _:
            return set()


def drawing(checkout: Checkout) -> tuple[dict[str, int], dict[str, list[str]]]:
    """Count circles among all that the wheel brings, and the floors of the validator."""
    modules = checkout.modules_of(checkout.shipped)
    graph = imports(modules)
    of_files = circles(graph)
    of_drawn = circles(between({module.name: module.drawn_room for module in modules}, graph))
    of_rooms = circles(between({module.name: module.folder for module in modules}, graph))
    validator = {module.name: module for module in modules if module.drawn_room.split(".")[0] == VALIDATOR}
    stacked = between({name: module.drawn_room for name, module in validator.items()}, imports([*validator.values()]))
    figures = {
        "circles_of_files": len(of_files),
        "circles_of_drawn_rooms": len(of_drawn),
        "drawn_rooms_in_circles": sum(map(len, of_drawn)),
        "circles_of_rooms": len(of_rooms),
        "rooms_in_circles": sum(map(len, of_rooms)),
        "validator_floors": floors(stacked),
    }
    shown = {"circles of files": of_files, "circles of drawn rooms": of_drawn, "circles of rooms": of_rooms}
    return figures, {name: [", ".join(circle) for circle in found] for name, found in shown.items()}


def counted(root: Path) -> tuple[dict[str, int], dict[str, list[str]]]:
    """Return all figures of a checkout by their names in ``house_bounds.toml``, and what some were counted from."""
    checkout = Checkout(root)
    validating = checkout.modules_of(checkout.validating)
    of_rooms, largest = rooms(checkout.modules)
    of_imports, found = drawing(checkout)
    signatures = option_signatures(validating)
    figures = {
        **files_and_words(checkout),
        **of_rooms,
        **functions(validating),
        "option_signatures": len(signatures),
        **of_imports,
        **running.loaded_by_gate(root, checkout.shipped),
        **running.one_case(root, checkout.shipped, checkout.validating),
    }
    return figures, {**largest, **found, "signatures that spell out options": signatures}


def bounds() -> dict[str, dict[str, Any]]:
    """Return the table of bounds: of each figure its title, and what stands in `COLUMNS` as far as it is known."""
    return tomllib.loads(BOUNDS.read_text(encoding="utf-8"))


def table(figures: Mapping[str, int], commit: str, columns: Iterable[str] = COLUMNS) -> list[list[str]]:
    """Return the lines of a table, its heading first: what is known of each figure, and the figure."""
    lines = [["", *(COLUMNS[column] for column in columns), f"at {commit}"]]
    for name, bound in bounds().items():
        numbers = [*(bound.get(column) for column in columns), figures[name]]
        lines.append([bound["title"], *("" if number is None else f"{number:,}" for number in numbers)])
    return lines


def printed(lines: Sequence[Sequence[str]]) -> list[str]:
    """Return a table as it is printed: text on the left, figures on the right."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return [
        "  ".join([first.ljust(widths[0]), *map(str.rjust, others, widths[1:])]).rstrip() for first, *others in lines
    ]


def study(figures: Mapping[str, int], sources: Mapping[str, Sequence[str]], commit: str, date: str) -> str:
    """Return the page, in Markdown."""
    heading, *lines = table(figures, commit, ("review", "goal") if commit == BEFORE else ("review", "before", "goal"))
    rule = ["---", *("---:" for _ in heading[1:])]
    rows = [f"| {' | '.join(line)} |" for line in (heading, rule, *lines)]
    notes = [f"- {name}: {'; '.join(f'`{entry}`' for entry in found) or 'none'}" for name, found in sources.items()]
    about = ABOUT.format(commit=commit, date=date).strip()
    return "\n".join(["# The size of the house", "", about, "", *rows, "", *notes]) + "\n"


def main() -> None:
    """Count, print, and write the page on request."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=Path, default=ROOT, metavar="DIR", help="count this checkout")
    parser.add_argument("--json", action="store_true", help="print figures and what they were counted from, as JSON")
    parser.add_argument("--write", nargs="?", type=Path, const=STUDY, metavar="FILE", help=f"write {STUDY.name}")
    options = parser.parse_args()
    root = options.root.resolve()
    figures, sources = counted(root)
    commit, date = git(root, "log", "-1", "--format=%H %cs").split()
    commit = commit[: len(BEFORE)]
    if options.json:
        print(json.dumps({"commit": commit, "figures": figures, "sources": sources}, indent=2))  # noqa: T201
    else:
        print(*printed(table(figures, commit)), sep="\n")  # noqa: T201
    if options.write is not None:
        options.write.parent.mkdir(parents=True, exist_ok=True)
        options.write.write_text(study(figures, sources, commit, date), encoding="utf-8")


if __name__ == "__main__":
    main()
