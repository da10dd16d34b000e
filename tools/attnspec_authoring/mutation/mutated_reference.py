"""The reference with one of its modules exchanged for a mutant, as an implementation under test."""

from __future__ import annotations

import ast
import importlib
import sys
from contextlib import contextmanager
from functools import cache
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import SimpleNamespace
from typing import TYPE_CHECKING

import attnspec_reference
from attnspec.contract import OPERATIONS
from attnspec.contract.dtypes import FLOAT_DTYPES
from attnspec_authoring.mutation.mutants import source_of

if TYPE_CHECKING:
    from collections.abc import Generator
    from types import ModuleType

    from attnspec_authoring.mutation.mutants import Mutant

PACKAGE = "attnspec_reference"


def load_mutated_reference(mutant: Mutant) -> SimpleNamespace:
    """Import the mutant and what imports it anew; the reference that is already imported stays as it is.

    The result holds the operations whose modules import the mutant, however deep; raises whatever the mutant raises.
    """
    with _fresh_imports(mutant):
        package = importlib.import_module(PACKAGE)
        return SimpleNamespace(
            **{name: getattr(package, name) for name in OPERATIONS if mutant.module in _imported_by(_home(name))},
            name=mutant.id,
            dtypes=FLOAT_DTYPES,
        )


def _home(operation: str) -> str:
    """Return the module of the reference that holds an operation."""
    return getattr(attnspec_reference, operation).__module__.removeprefix(f"{PACKAGE}.")


@cache
def _imported_by(module: str) -> frozenset[str]:
    """Name a module of the reference and all that it imports from there."""
    source = source_of(module).read_text(encoding="utf-8")
    direct = [
        node.module.removeprefix(f"{PACKAGE}.")
        for node in ast.parse(source).body
        if isinstance(node, ast.ImportFrom) and node.module is not None and node.module.startswith(PACKAGE)
    ]
    return frozenset({module}).union(*map(_imported_by, direct))


@contextmanager
def _fresh_imports(mutant: Mutant) -> Generator[None]:
    """Let imports of what depends on a mutant make new modules, and put the old ones back at the end."""
    finder = _MutantFinder(f"{PACKAGE}.{mutant.module}", mutant.source)
    kept = {name: module for name, module in sys.modules.items() if name.split(".")[0] == PACKAGE}
    for name, module in kept.items():
        # An import sets an attribute of the package above: packages are made anew as well.
        if hasattr(module, "__path__") or mutant.module in _imported_by(name.removeprefix(f"{PACKAGE}.")):
            del sys.modules[name]
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        for name in [name for name in sys.modules if name.split(".")[0] == PACKAGE]:
            del sys.modules[name]
        sys.modules.update(kept)


class _MutantFinder(MetaPathFinder, Loader):
    """Finds one module, and gives it another source."""

    def __init__(self, name: str, source: str) -> None:
        self._name = name
        self._source = source

    def find_spec(self, fullname: str, *_: object) -> ModuleSpec | None:
        """Claim the one module."""
        return ModuleSpec(fullname, self) if fullname == self._name else None

    def create_module(self, spec: ModuleSpec) -> None:
        """Leave making the module to Python."""

    def exec_module(self, module: ModuleType) -> None:
        """Run the mutant's source."""
        exec(compile(self._source, f"<mutant of {self._name}>", "exec"), module.__dict__)
