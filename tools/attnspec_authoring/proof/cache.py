"""Findings of earlier matrices, kept for as long as nothing has changed on which they depend.

A finding of a case on a mistake depends on the case, on the mistake, on the reference and on the harness. The digest of
all their files is kept beside it, so that what is read is never stale; whoever deletes the folder loses time alone.
"""

from __future__ import annotations

import ast
import hashlib
import json
import platform
import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import ml_dtypes
import numpy as np

from attnspec.base.files import replace_file
from attnspec.contract.dtypes import ANY, FLOAT_DTYPES
from attnspec_authoring.proof.subjects import remembers, subjects
from attnspec_controls import Control

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from attnspec.cases import Case, Suite
    from attnspec_authoring.proof.subjects import Subject

Checks = dict[str, dict[str, str | None]]
"""Id of a case to dtype to the check that failed, or the status where there was nothing to check; None where right."""

ROOT = Path(__file__).parents[3]
FOLDER = ROOT / ".cache" / "matrix"

_PACKAGES = {path.name: path for folder in ("tools", "reference_impl") for path in (ROOT / folder).glob("attnspec*")}
_WHOLE = ("attnspec", "attnspec_reference")
"""Packages of which every file counts, for every mistake; of the others, those that a mistake's own file imports."""

_DTYPES = (*FLOAT_DTYPES, ANY)
_DIGITS = 16
"""How much of a digest is kept of each case: enough that no two are the same by chance."""


class _Kept(NamedTuple):
    """Finding of one case, and the digest of the case of which it is true."""

    digest: str
    checks: dict[str, str | None]

    @property
    def written(self) -> list[Any]:
        """The dtypes as digits, and what was wrong: most is right."""
        dtypes = "".join(str(_DTYPES.index(dtype)) for dtype in self.checks)
        return [self.digest, dtypes, {dtype: check for dtype, check in self.checks.items() if check is not None}]

    @classmethod
    def read(cls, digest: str, dtypes: str, failed: Mapping[str, str]) -> _Kept:
        """Read what `written` gives."""
        return cls(digest, {_DTYPES[int(index)]: failed.get(_DTYPES[int(index)]) for index in dtypes})


def _is_of(kept: _Kept | None, digest: str) -> bool:
    return kept is not None and kept.digest == digest


class Cache:
    """Cache of findings: a folder with a file for each mistake and each control, made when there is something to keep.

    With `of_part`, only a part of the cases is run: findings that depend on earlier calls are neither read nor kept.
    """

    def __init__(self, folder: Path = FOLDER, *, of_part: bool = False) -> None:
        self._folder = folder
        self._of_part = of_part
        self._cases: dict[str, str] = {}
        self._as_imported = _state_of_code()

    def known(self, subject: Subject, suite: Suite) -> Checks:
        """Return what is known of a mistake or a control on the cases of its operation as they are now."""
        if self._of_part and remembers(subject):
            return {}
        digests = self._digests(subject, suite)
        kept = self._read(subject)
        return {case_id: kept[case_id].checks for case_id in digests if _is_of(kept.get(case_id), digests[case_id])}

    def keep(self, subject: Subject, suite: Suite, seen: Checks) -> None:
        """Keep what was found anew, beside what is known of these cases and of others."""
        if self._of_part and remembers(subject):
            return
        if _state_of_code() != self._as_imported:
            return  # who edits the code while it runs has results of which nobody knows what made them
        digests, kept, known = self._digests(subject, suite), self._read(subject), self.known(subject, suite)
        for case_id, checks in seen.items():
            kept[case_id] = _Kept(digests[case_id], {**known.get(case_id, {}), **checks})
        self._folder.mkdir(parents=True, exist_ok=True)
        document = {"code": code_digest(subject), "cases": {case_id: entry.written for case_id, entry in kept.items()}}
        replace_file(self._folder / f"{subject.id}.json", json.dumps(document, separators=(",", ":")))

    def _read(self, subject: Subject) -> dict[str, _Kept]:
        """Return what is kept that was found with the code as it is now, stale cases among it."""
        try:
            document = json.loads((self._folder / f"{subject.id}.json").read_text(encoding="utf-8"))
            if document["code"] != code_digest(subject):
                return {}
            return {case_id: _Kept.read(*entry) for case_id, entry in document["cases"].items()}
        except (OSError, ValueError, LookupError, TypeError, AttributeError):
            return {}

    def _digests(self, subject: Subject, suite: Suite) -> dict[str, str]:
        """Return the digest of each case of an operation; where earlier calls count, that of all of them together."""
        own = [case for case in suite.cases.values() if case.operation == subject.operation]
        digests = {case.id: self._digest(case, suite) for case in own}
        if not remembers(subject):
            return digests
        return dict.fromkeys(digests, _digest_of(f"{case_id} {digest}" for case_id, digest in digests.items()))

    def _digest(self, case: Case, suite: Suite) -> str:
        """Return the digest of a case's file, and of that of its valid counterpart where it has one."""
        if case.id not in self._cases:
            files = [case.id] if case.rejects is None else [case.id, case.rejects.counterpart]
            contents = [(suite.folder / f"{name}.json").read_bytes() for name in files]
            self._cases[case.id] = _digest_of(hashlib.sha256(content).hexdigest() for content in contents)
        return self._cases[case.id]


def code_digest(subject: Subject) -> str:
    """Return the digest of all code that decides what a case makes of a mistake or a control."""
    makers = _makers().get(subject.id, ())
    # Who lists it without making it imports who does.
    files = min(map(_closure, makers), key=len, default=frozenset(_files_of(_PACKAGES[_package_of(subject)])))
    # What it is wrapped in decides as well.
    code = getattr(subject.function, "__code__", None)
    wrapped: frozenset[Path] = (
        frozenset() if code is None else frozenset({Path(code.co_filename)}) & _files_of_project()
    )
    return _digest_of((_harness_digest(), *(_file_digest(path) for path in sorted(files | wrapped))))


def _package_of(subject: Subject) -> str:
    return type(subject).__module__.partition(".")[0]


@cache
def _harness_digest() -> str:
    """Return the digest of harness, reference and proof, and of what they run on."""
    machine = (sys.version, platform.platform(), np.__version__, ml_dtypes.__version__)
    folders = [_PACKAGES[name] for name in _WHOLE] + [Path(__file__).parent]
    return _digest_of((*machine, *(_file_digest(path) for folder in folders for path in _files_of(folder))))


def _state_of_code() -> tuple[tuple[int, int], ...]:
    """Return when each file of the project was written last, and how long it is."""
    states = (path.stat() for folder in _PACKAGES.values() for path in _files_of(folder))
    return tuple((state.st_mtime_ns, state.st_size) for state in states)


@cache
def _files_of(folder: Path) -> tuple[Path, ...]:
    # The contract is data, and decides as code does.
    return tuple(sorted((*folder.rglob("*.py"), *folder.glob("contract/*.json"))))


@cache
def _files_of_project() -> frozenset[Path]:
    return frozenset(path for folder in _PACKAGES.values() for path in _files_of(folder))


@cache
def _file_digest(path: Path) -> str:
    return f"{path.relative_to(ROOT)} {hashlib.sha256(path.read_bytes()).hexdigest()}"


def _digest_of(lines: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:_DIGITS]


@cache
def _makers() -> Mapping[str, list[Path]]:
    """Return the files that make each mistake or list each control, by its id: it may be listed again, wrapped."""
    packages = {_package_of(subject) for subject in subjects()}
    found: dict[str, list[Path]] = {}
    for name, module in sorted(sys.modules.items()):
        if name.partition(".")[0] not in packages or hasattr(module, "__path__") or module.__file__ is None:
            continue
        values = vars(module).values()
        listed = [entry for value in values if isinstance(value, tuple) for entry in cast("tuple[object, ...]", value)]
        of_controls = [entry.id for entry in listed if isinstance(entry, Control)]
        for identifier in (*of_controls, *vars(module).get("FUNCTIONS", ())):
            found.setdefault(identifier, []).append(Path(module.__file__))
    return found


@cache
def _closure(path: Path) -> frozenset[Path]:
    """Return a file and all files of the project that it imports, however far, but for those that always count."""
    found, waiting = {path}, [path]
    while waiting:
        for imported in _imported(waiting.pop()) - found:
            found.add(imported)
            waiting.append(imported)
    return frozenset(found)


@cache
def _imported(path: Path) -> frozenset[Path]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names |= {node.module or "", *(f"{node.module}.{alias.name}" for alias in node.names)}
    return frozenset(file for name in names if (file := _file_of(name)) is not None)


def _file_of(module: str) -> Path | None:
    first, *rest = module.split(".")
    if first not in _PACKAGES or first in _WHOLE:
        return None
    base = _PACKAGES[first].joinpath(*rest)
    return next((path for path in (base / "__init__.py", base.with_suffix(".py")) if path.is_file()), None)
