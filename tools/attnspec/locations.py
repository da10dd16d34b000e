"""Where the golden files, the schemas and the spec pages lie: in the installed wheel, or in a checkout."""

from __future__ import annotations

from functools import cache
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent


@cache
def _root() -> Path:
    """Return the folder that holds ``golden/`` and ``spec/``."""
    shipped = _PACKAGE / "_data"
    return shipped if shipped.is_dir() else _PACKAGE.parents[1]


def golden_folder() -> Path:
    """Return the folder of the certified fixtures."""
    return _root() / "golden"


def schema_folder() -> Path:
    """Return the folder of the JSON Schemas."""
    return _root() / "spec" / "schemas"


def operation_pages() -> tuple[Path, ...]:
    """Return the spec pages that hold the clauses, one an operation, in alphabetical order."""
    return tuple(sorted((_root() / "spec" / "operations").glob("*/*.md"), key=lambda page: page.name))


def errata_page() -> Path:
    """Return the page of errata."""
    return _root() / "spec" / "errata.md"
