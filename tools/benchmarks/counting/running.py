"""What runs of the suite: the modules that ``attnspec gate`` loads, and the functions that one golden case enters.

Each is measured in a process of its own, with the packages of the checkout that is measured before those installed.
Run as a program, this file is the process of the one case.
"""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
import tempfile
from itertools import pairwise
from pathlib import Path, PurePosixPath
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from types import FrameType

CATALOGUE = "attnspec_mistakes"

TEXTBOOK = """
import numpy as np


def attention(q, k, v, mask=None):
    scores = q @ k.swapaxes(-1, -2)
    if mask is not None:
        scores = np.where(mask, scores, -np.inf)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True) @ v
"""
"""The function of README.md without its scale."""

GATE = [
    *("-m", "attnspec", "gate", "./textbook.py:attention", "--as", "scaled_dot_product_attention"),
    *("--rename", "q=query,k=key,v=value", "--profile", "smoke", "--report", "report.json"),
]
"""On the smoke profile, which at 84ed001b loads what all cases load, in a third of the time."""

WATCHER = """
import os, sys

def watch(event, arguments, os=os, log=os.open(os.environ["HOUSE_LOADED"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)):
    if event == "exec" and getattr(arguments[0], "co_name", None) == "<module>":
        os.write(log, f"{os.getpid()} {arguments[0].co_filename}\\n".encode())

sys.addaudithook(watch)
"""
"""A ``sitecustomize.py``: notes each file as it is executed, in a process that is forked or started, too, and whichever
way that process ends."""

CASE, DTYPE = "core/plain", "float32"
UNNAMED = {"<listcomp>", "<dictcomp>", "<setcomp>", "<genexpr>", "<module>"}
"""Frames that are no functions of their own: newer versions of Python have none for most of them."""


class Call(NamedTuple):
    """A function that was entered: its file, from the root of the checkout, and its qualified name."""

    file: str
    name: str


def loaded_by_gate(root: Path, shipped: Sequence[str]) -> dict[str, int]:
    """Count what ``attnspec gate`` loads on a failing function with a JSON report.

    `root`, `shipped`: the checkout, and the folders of its packages.
    """
    with tempfile.TemporaryDirectory(prefix="house-") as name:
        folder = Path(name)
        (folder / "textbook.py").write_text(TEXTBOOK, encoding="utf-8")
        (folder / "sitecustomize.py").write_text(WATCHER, encoding="utf-8")
        log = folder / "loaded"
        environment = environment_of(root, shipped, str(folder)) | {"HOUSE_LOADED": str(log)}
        gate = subprocess.Popen(
            [sys.executable, *GATE], cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        said, _ = gate.communicate()
        if gate.returncode != 1 or not (folder / "report.json").exists():
            raise SystemExit(f"attnspec gate ended with {gate.returncode} instead of 1:\n{said.decode()}")
        lines = log.read_text(encoding="utf-8").splitlines()
    return lines_loaded(root, shipped, [line.split(" ", 1) for line in lines], str(gate.pid))


def lines_loaded(root: Path, shipped: Sequence[str], loaded: Iterable[Sequence[str]], process: str) -> dict[str, int]:
    """Count the modules that were executed, as (process, file): in all processes together, and in the first alone."""
    files = {(number, path) for number, file in loaded if (path := inside(root, shipped, file)) is not None}
    if not files:
        raise SystemExit(f"attnspec gate loaded nothing of {', '.join(shipped)} in {root}.")
    size = {path: (root / path).read_bytes().count(b"\n") for _, path in files}
    catalogue = {path for path in size if CATALOGUE in PurePosixPath(path).parts}
    return {
        "gate_modules": len(size.keys() - catalogue),
        "gate_lines": sum(size[path] for path in size.keys() - catalogue),
        "gate_catalogue_lines": sum(size[path] for path in catalogue),
        "gate_lines_of_its_own_process": sum(
            size[path] for path in {path for number, path in files if number == process} - catalogue
        ),
    }


def one_case(root: Path, shipped: Sequence[str], validating: Sequence[str]) -> dict[str, int]:
    """Count what one case of one dtype passes through in `attnspec.validate`, and how often it asks for an answer.

    `root`, `shipped`: the checkout, and the folders of its packages; `validating`: the folders of those packages in
    which functions are counted.
    """
    command = [sys.executable, str(Path(__file__).resolve()), *(f"{root / package}{os.sep}" for package in validating)]
    done = subprocess.run(command, env=environment_of(root, shipped), stdout=subprocess.PIPE, check=True)
    entered, answers = json.loads(done.stdout)
    calls = [Call(str(path), name) for file, name in entered if (path := inside(root, validating, file)) is not None]
    if not (calls and answers):
        raise SystemExit(f"{CASE} enters nothing of {', '.join(validating)} in {root}, or calls no implementation.")
    return path_of(calls) | {"case_answers": answers}


def path_of(calls: Sequence[Call]) -> dict[str, int]:
    """Count functions, modules and rooms that calls enter, and how often the room of a call is not that of the last.

    A room is what stands right inside a package, as imports are drawn, and once more a folder. The ``__init__.py`` of a
    package is no module and no drawn room, though its functions count.
    """
    modules = {call.file for call in calls if not call.file.endswith("/__init__.py")}
    rooms = [drawn_room(call.file) for call in calls]
    folders = [str(PurePosixPath(call.file).parent) for call in calls]
    return {
        "case_functions": len(set(calls)),
        "case_modules": len(modules),
        "case_rooms": len({drawn_room(file) for file in modules}),
        "case_changes": changes(rooms),
        "case_folders": len(set(folders)),
        "case_folder_changes": changes(folders),
    }


def drawn_room(file: str) -> str:
    """Return the folder or lone module right inside a package: ``tools/attnspec/cases``."""
    return "/".join(file.split("/")[:3])


def changes(sequence: Sequence[str]) -> int:
    """Return how many entries differ from the one before."""
    return sum(one != other for one, other in pairwise(sequence))


def inside(root: Path, packages: Iterable[str], file: str) -> str | None:
    """Return the path of a file from the root, if it lies in one of the packages."""
    path = Path(file)
    found = path.relative_to(root).as_posix() if path.is_relative_to(root) else ""
    return found if found.startswith(tuple(f"{package}/" for package in packages)) else None


def environment_of(root: Path, shipped: Iterable[str], *first: str) -> dict[str, str]:
    """Return an environment in which the packages of a checkout are imported before those installed."""
    folders = dict.fromkeys(str((root / package).parent) for package in shipped)
    return {**os.environ, "PYTHONPATH": os.pathsep.join([*first, *folders])}


def profiled(packages: tuple[str, ...]) -> list[tuple[str, str]]:
    """Validate one case of the reference, once it has been validated before; return each function that is entered."""
    import attnspec

    entered: list[tuple[str, str]] = []

    def note(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(packages) and code.co_name not in UNNAMED:
            entered.append((code.co_filename, code.co_qualname))

    attnspec.validate("reference", select=CASE, dtypes=DTYPE)
    sys.setprofile(note)
    try:
        attnspec.validate("reference", select=CASE, dtypes=DTYPE)
    finally:
        sys.setprofile(None)
    return entered


def answers() -> int:
    """Validate a function on the same case and return how often it is called."""
    import attnspec
    from attnspec_reference import scaled_dot_product_attention

    calls = 0

    @functools.wraps(scaled_dot_product_attention)
    def counting(*arguments: Any, **options: Any) -> Any:
        nonlocal calls
        calls += 1
        return scaled_dot_product_attention(*arguments, **options).output

    adapter = SimpleNamespace(dtypes=(DTYPE,), scaled_dot_product_attention=counting)
    attnspec.validate(adapter, select=CASE, dtypes=DTYPE)
    return calls


if __name__ == "__main__":
    # What stands beside this file is no part of the suite.
    sys.path = [folder for folder in sys.path if Path(folder) != Path(__file__).resolve().parent]
    print(json.dumps([profiled(tuple(sys.argv[1:])), answers()]))  # noqa: T201
