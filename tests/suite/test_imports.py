"""Who imports whom: no circle between files, rooms in one order, and packages that depend on each other one way."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parents[2]
REFERENCE, TOOLS = (
    {folder.name: folder for folder in sorted((ROOT / name).iterdir()) if any(folder.glob("*.py"))}
    for name in ("reference_impl", "tools")
)
PACKAGES = {**REFERENCE, **TOOLS}
FLOORS: tuple[tuple[str, ...], ...] = (
    ("attnspec.base", "attnspec_reference"),
    ("attnspec.contract", "attnspec.specification", "attnspec_mistakes"),
    ("attnspec.bounds", "attnspec.cases", "attnspec.tensors"),
    ("attnspec.families",),
    ("attnspec.grading", "attnspec.targets", "attnspec_adapters"),
    ("attnspec.process", "attnspec.runner", "attnspec_draws.generators"),
    (
        "attnspec.diagnosis",
        "attnspec.offline",
        "attnspec_draws",
        "attnspec_draws.attention",
        "attnspec_draws.caches",
        "attnspec_draws.masks",
        "attnspec_draws.norms",
        "attnspec_draws.rotary",
        "attnspec_modules",
        "attnspec_probes",
    ),
    ("attnspec.reports",),
    ("attnspec.reports.html", "attnspec.validation", "attnspec_vectors"),
    ("attnspec.guard", "attnspec.reports.formats", "attnspec.scaffold"),
    ("attnspec.command_line", "attnspec.gate", "attnspec_draws.campaign", "attnspec_draws.judge"),
    ("attnspec.commands", "attnspec.pytest_plugin", "attnspec_draws.commands", "attnspec_vectors.commands"),
    ("attnspec",),
)
"""The rooms of what is installed, from the ground up: one imports what lies below it, and nothing on its own floor.

A room holds the rooms inside it that are not listed. The last is the door, which everybody else comes in by.
"""

BESIDE = ("attnspec_adapters", "attnspec_draws", "attnspec_modules", "attnspec_probes", "attnspec_vectors")
"""Packages beside the validator, which knows them by name alone (`attnspec.base.extensions`)."""

REGISTRIES = {
    "attnspec.base.extensions": "the extensions of the validator",
    "attnspec.command_line": "the commands",
    "attnspec_draws.judge.own_modules": "what is loaded before a candidate is there",
}
"""The modules that know others above them by name, and what these are."""

AUTHORING_DOOR = "tools/attnspec/base/extensions.py"
"""The table of extensions, which alone of the harness knows by name what makes golden files, in a checkout."""


def files_of(*folders: Path) -> list[Path]:
    return sorted(path for folder in folders for path in folder.rglob("*.py"))


@cache
def imported_names(path: Path) -> tuple[tuple[str, str | None], ...]:
    """Return (module, name or None) of every import of a file: under TYPE_CHECKING and inside functions too."""
    found: list[tuple[str, str | None]] = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found += [(alias.name, None) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            module = node.module or ""
            if node.level:
                folder = path.parents[node.level - 1]
                above = [package.parent for package in PACKAGES.values() if folder.is_relative_to(package)]
                module = ".".join((*folder.relative_to(above[0]).parts, *filter(None, [node.module])))
            found += [(module, alias.name) for alias in node.names]
    return tuple(found)


def file_of(module: str) -> Path | None:
    """Return the file that a dotted name of one of the packages stands for; None where it stands for none."""
    first, *rest = module.split(".")
    if first not in PACKAGES:
        return None
    path = PACKAGES[first].joinpath(*rest)
    return next((file for file in (path / "__init__.py", path.with_suffix(".py")) if file.is_file()), None)


@cache
def imported_files(path: Path) -> tuple[Path, ...]:
    """Return the files of the packages that a file imports: the submodule where a name is one, else what holds it."""
    found: dict[Path, None] = {}
    for module, name in imported_names(path):
        target = (file_of(f"{module}.{name}") if name is not None else None) or file_of(module)
        if target is not None and target != path:
            found[target] = None
    return tuple(found)


def circles(files: list[Path]) -> list[list[Path]]:
    """Return the strongly connected components of more than one file, by Tarjan's algorithm."""
    order: dict[Path, int] = {}
    lowest: dict[Path, int] = {}
    stack: list[Path] = []
    found: list[list[Path]] = []

    def visit(path: Path) -> None:
        order[path] = lowest[path] = len(order)
        stack.append(path)
        for target in imported_files(path):
            if target not in order:
                visit(target)
            if target in stack:
                lowest[path] = min(lowest[path], lowest[target])
        if lowest[path] == order[path]:
            index = stack.index(path)
            component = stack[index:]
            del stack[index:]
            if len(component) > 1:
                found.append(sorted(component))

    for path in files:
        if path not in order:
            visit(path)
    return found


def shown(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def packages_imported(path: Path) -> set[str]:
    return {module.partition(".")[0] for module, _ in imported_names(path)} & set(PACKAGES)


def test_imports_are_found_wherever_they_stand() -> None:
    validator = PACKAGES["attnspec"]
    found = imported_files(validator / "validation" / "one_case.py")
    assert validator / "contract" / "dtypes.py" in found
    assert validator / "reports" / "notebook.py" in found, "it is imported inside a method"
    under = imported_files(validator / "reports" / "report.py")
    assert validator / "runner" / "__init__.py" in under, "it is imported under TYPE_CHECKING"


def test_no_files_import_each_other_in_a_circle() -> None:
    found = circles(files_of(*PACKAGES.values()))
    reported = [
        f"{shown(path)} imports {', '.join(shown(target) for target in imported_files(path) if target in circle)}"
        for circle in found
        for path in circle
    ]
    assert not found, "These files import each other:\n" + "\n".join(reported)


INSTALLED = [folder for name, folder in PACKAGES.items() if any(name in floor for floor in FLOORS) or name in BESIDE]


def module_of(path: Path) -> str:
    """Return the dotted name of a file."""
    package = next(folder for folder in PACKAGES.values() if path.is_relative_to(folder))
    parts = path.relative_to(package.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def room_of(path: Path) -> tuple[int, str]:
    """Return the room of a file, the innermost of those that are listed, and its floor."""
    module = module_of(path)
    around = [
        (len(room), floor, room)
        for floor, rooms in enumerate(FLOORS)
        for room in rooms
        if f"{module}.".startswith(f"{room}.")
    ]
    assert around, f"Say in FLOORS in which room {shown(path)} stands."
    _, floor, room = max(around)
    return floor, room


def named_files(path: Path) -> tuple[Path, ...]:
    """Return the files that a file names in a string, as ``package.module`` or with ``:attribute``, and its tables."""
    texts = [
        node.value.partition(":")[0]
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.startswith("attnspec")
    ]
    for table in path.parent.glob("*.json"):
        of_module = table.with_suffix(".py")
        if path == (of_module if of_module.is_file() else path.with_name("__init__.py")):
            texts += re.findall(r'"(attnspec[\w.]*)', table.read_text(encoding="utf-8"))
    return tuple(file for text in texts if re.fullmatch(r"\w+(\.\w+)+", text) and (file := file_of(text)) is not None)


def leading_up(of: Callable[[Path], tuple[Path, ...]]) -> dict[tuple[str, str], list[str]]:
    """Return the arrows from a room to one that is not below it, each with the files."""
    found: dict[tuple[str, str], list[str]] = {}
    for path in files_of(*INSTALLED):
        floor, room = room_of(path)
        for target in of(path):
            above, other = room_of(target) if any(target.is_relative_to(each) for each in INSTALLED) else (-1, "")
            if room != other and floor <= above:
                found.setdefault((room, other), []).append(f"{module_of(path)} -> {module_of(target)}")
    return found


def test_rooms_import_what_lies_below_them() -> None:
    found = leading_up(imported_files)
    lines = [f"{above} <- {below}: {', '.join(files)}" for (below, above), files in found.items()]
    assert not found, "Arrows that lead up:\n" + "\n".join(lines)


def test_the_validator_imports_nothing_that_stands_beside_it() -> None:
    inside = [path for path in files_of(PACKAGES["attnspec"]) if path.parent != PACKAGES["attnspec"]]
    assert {shown(path) for path in inside if packages_imported(path) & {*BESIDE}} == set()


def test_only_registries_name_what_lies_above_them() -> None:
    files = [arrow.partition(" -> ")[0] for arrows in leading_up(named_files).values() for arrow in arrows]
    assert {*files} == REGISTRIES.keys()


def test_the_harness_knows_nothing_of_authoring_but_at_one_door() -> None:
    inside = files_of(
        *(
            folder
            for name, folder in PACKAGES.items()
            if name not in ("attnspec_authoring", "attnspec_site", "benchmarks")
        )
    )
    importing = {shown(path) for path in inside if "attnspec_authoring" in packages_imported(path)}
    # The door imports it by name, so that what is installed has no arrow to what is not.
    naming = {shown(path) for path in inside if '"attnspec_authoring' in path.read_text(encoding="utf-8")}
    assert (importing, naming) == (set(), {AUTHORING_DOOR})


@pytest.mark.parametrize("package", REFERENCE)
def test_what_is_right_knows_nothing_of_what_judges(package: str) -> None:
    forbidden = {*TOOLS}
    if package == "attnspec_reference":
        forbidden |= {*REFERENCE} - {package}
    found = {
        shown(path): sorted(known)
        for path in files_of(PACKAGES[package])
        if (known := packages_imported(path) & forbidden)
    }
    assert found == {}
