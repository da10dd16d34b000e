"""Where the golden files, the schemas and the spec pages lie: in the installed wheel, or in a checkout."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parents[1]
_SHIPPED = _PACKAGE / "_data"
_ROOT = _SHIPPED if _SHIPPED.is_dir() else _PACKAGE.parents[1]
"""The folder that holds ``golden/`` and ``spec/``."""

GOLDEN_FOLDER = _ROOT / "golden"
"""The certified fixtures."""

SCHEMA_FOLDER = _ROOT / "spec" / "schemas"
"""The JSON Schemas."""

ERRATA_PAGE = _ROOT / "spec" / "errata.md"
"""The page of errata."""


def operation_pages() -> tuple[Path, ...]:
    """Return the spec pages that hold the clauses, one an operation, in alphabetical order."""
    return tuple(sorted((_ROOT / "spec" / "operations").glob("*/*.md"), key=lambda page: page.name))
