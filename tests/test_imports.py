"""Who imports whom: no circle between files, rooms in one order, and packages that depend on each other one way."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

ROOT = Path(__file__).parents[1]
REFERENCE, TOOLS = (
    {folder.name: folder for folder in sorted((ROOT / name).iterdir()) if any(folder.glob("*.py"))}
    for name in ("reference_impl", "tools")
)
PACKAGES = {**REFERENCE, **TOOLS}
FLOORS: tuple[Mapping[str, tuple[str, ...]], ...] = (
    {"base": ("errors", "extensions", "locations", "plain_text", "replacing", "reproduction.literals", "version")},
    {
        "contract": (
            "adapters.implementation",
            "arrangement",
            "capabilities",
            "contract",
            "convention",
            "conventions",
            "dtypes",
            "families.attention.contract",
            "families.rotary.contract",
            "families.shared_conventions",
            "layout",
            "operation",
        ),
        "specification": ("specification",),
    },
    {"bounds": ("bounds",), "cases": ("cases", "releases"), "tensors": ("adapters.tensors",)},
    {"families": ("families", "family")},
    {"grading": ("comparison", "reference_answers"), "targets": ("adapters",)},
    {"runner": ("runner",)},
    {"diagnosis": ("diagnosis",), "offline": ("offline",)},
    {"reports": ("reports",), "reproduction": ("reproduction",)},
    {"gate": ("gate",), "validation": ("one_case", "validation")},
    {"guard": ("guard",), "scaffold": ("starting",)},
    {"command_line": ("command_line", "vocabulary"), "pytest_plugin": ("pytest_plugin",)},
    {"door": ("", "__main__")},
)
"""The rooms of the validator from the ground up, each with its modules: one imports what lies below it, and nothing on
its own floor."""

EXTENSIONS: tuple[Mapping[str, tuple[str, ...]], ...] = (
    {
        "built-in adapters": ("adapters.builtin",),
        "case generators": ("impostor_answers", "lattice"),
        "probes": ("families.attention.measuring", "probing"),
    },
    {
        "random cases of families": (
            "families.attention.drawing",
            "families.attention.impostors",
            "families.attention.random_cases",
            "families.rotary.drawing",
            "families.rotary.impostors",
            "families.rotary.random_cases",
        )
    },
    {"draws": ("draws",)},
    {"campaign": ("campaign",), "judge": ("judgement",)},
    {
        "commands of draws": (
            "command_line.campaign",
            "command_line.campaign_asked",
            "command_line.campaign_files",
            "command_line.campaign_progress",
            "command_line.campaign_summary",
            "command_line.campaign_tally",
            "command_line.judge",
        )
    },
)
"""What stands on top of the validator, which knows it by name alone (`attnspec.extensions`)."""

ROOMS = {
    room: (floor, modules) for floor, rooms in enumerate((*FLOORS, *EXTENSIONS)) for room, modules in rooms.items()
}
"""Room to its floor and its modules; a module in none of them is one of its package's room."""

EXCEPTIONS = {
    (
        "door",
        "judge",
    ): "`attnspec.judge` is a public name: type checkers see where it comes from, and Python imports it on first use",
}
"""Arrows that lead up, each with its reason."""

REGISTRIES = {
    "extensions": "the extensions of the validator",
    "lattice.random_cases": "the random cases of each family",
}
"""The modules that know others above them by name, and what these are."""

AUTHORING_DOOR = "tools/attnspec/command_line/authoring.py"
"""The commands of a checkout, which alone of the harness know how golden files are made."""


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
    place = PACKAGES[first].joinpath(*rest)
    return next((path for path in (place / "__init__.py", place.with_suffix(".py")) if path.is_file()), None)


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
            place = stack.index(path)
            component = stack[place:]
            del stack[place:]
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
    reports = PACKAGES["attnspec"] / "reports"
    found = imported_files(reports / "report.py")
    assert reports / "summary.py" in found
    assert reports / "notebook.py" in found, "it is imported inside a method"
    assert PACKAGES["attnspec"] / "runner" / "__init__.py" in found, "it is imported under TYPE_CHECKING"


def test_no_files_import_each_other_in_a_circle() -> None:
    found = circles(files_of(*PACKAGES.values()))
    told = [
        f"{shown(path)} imports {', '.join(shown(target) for target in imported_files(path) if target in circle)}"
        for circle in found
        for path in circle
    ]
    assert not found, "These files import each other:\n" + "\n".join(told)


def module_of(path: Path) -> str:
    """Return the dotted name of a file of the harness, without its package; empty for the package itself."""
    parts = path.relative_to(PACKAGES["attnspec"]).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def room_of(path: Path) -> str | None:
    """Return the room of a file of the harness: that which names its module, or else the nearest package around it."""
    parts = module_of(path).split(".")
    for length in range(len(parts), 0, -1):
        name = ".".join(parts[:length])
        for room, (_, modules) in ROOMS.items():
            if name in modules:
                return room
    return None


def named_files(path: Path) -> tuple[Path, ...]:
    """Return the files of the harness that a file names in a string, as ``package.module`` or with ``:attribute``."""
    texts = [
        node.value.partition(":")[0]
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.startswith("attnspec.")
    ]
    return tuple(file for text in texts if re.fullmatch(r"\w+(\.\w+)+", text) and (file := file_of(text)) is not None)


def leading_up(of: Callable[[Path], tuple[Path, ...]]) -> dict[tuple[str, str], list[str]]:
    """Return the arrows from a room to one that is not below it, each with the files."""
    found: dict[tuple[str, str], list[str]] = {}
    for path in files_of(PACKAGES["attnspec"]):
        for target in of(path):
            if target.is_relative_to(PACKAGES["attnspec"]):
                rooms = room_of(path), room_of(target)
                if None not in rooms and rooms[0] != rooms[1] and ROOMS[rooms[0]][0] <= ROOMS[rooms[1]][0]:
                    found.setdefault(rooms, []).append(f"{module_of(path)} -> {module_of(target)}")
    return found


def test_every_module_of_the_harness_stands_in_a_room() -> None:
    homeless = [shown(path) for path in files_of(PACKAGES["attnspec"]) if room_of(path) is None]
    assert not homeless, f"Say in FLOORS or EXTENSIONS in which room these stand: {', '.join(homeless)}"


def test_rooms_import_what_lies_below_them() -> None:
    found = leading_up(imported_files)
    told = [f"{above} <- {below}: {', '.join(files)}" for (below, above), files in found.items()]
    assert found.keys() == EXCEPTIONS.keys(), "Arrows that lead up:\n" + "\n".join(told)


def test_only_registries_name_what_lies_above_them() -> None:
    files = [arrow.partition(" -> ")[0] for arrows in leading_up(named_files).values() for arrow in arrows]
    assert {*files} - {""} == REGISTRIES.keys()


def test_the_harness_knows_nothing_of_authoring_but_at_one_door() -> None:
    inside = files_of(
        *(folder for name, folder in PACKAGES.items() if name not in ("attnspec_authoring", "benchmarks"))
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
