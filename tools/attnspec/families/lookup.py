"""The rooms of families that measure what a black box computes."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING

from attnspec.contract import OPERATIONS

if TYPE_CHECKING:
    from types import ModuleType


def measuring_of(operation: str) -> ModuleType | None:
    """Return the room of an operation's family that measures what a black box computes; None where it has none.

    Its ``laws`` takes an implementation that may be asked more, and every result of an operation, and gives laws.
    """
    name = f"attnspec.families.{OPERATIONS[operation].family}.measuring"
    return None if find_spec(name) is None else import_module(name)
