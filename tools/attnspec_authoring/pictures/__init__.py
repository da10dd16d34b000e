"""Pictures of operations, each drawn by a program from the worked example of its page.

``python -m attnspec_authoring.pictures`` draws them all into ``spec/pictures/``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from attnspec.contract import OPERATIONS

__all__ = ["FOLDER", "drawn", "file_of"]

FOLDER = Path(__file__).parents[3] / "spec" / "pictures"


def file_of(operation: str) -> Path:
    """Return the file that holds the picture of an operation."""
    return FOLDER / f"{operation}.svg"


def drawn() -> Mapping[str, str]:
    """Draw the picture of every operation: its name to SVG."""
    return {operation.name: _drawing(operation.family, operation.name)() for operation in OPERATIONS.values()}


def _drawing(family: str, operation: str) -> Callable[[], str]:
    """Return what draws an operation: what its family says, or else its first case as heat maps."""
    room = f"{__name__}.{family}"
    own: Mapping[str, Callable[[], str]] = import_module(room).PICTURES if find_spec(room) else {}
    if operation in own:
        return own[operation]
    from attnspec_authoring.pictures.first_case import first_case

    return lambda: first_case(operation)
