"""The one place in which the harness looks a family up."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from attnspec.contract import OPERATIONS

if TYPE_CHECKING:
    from attnspec.family import Family


def family_of(operation: str) -> Family:
    """Return the family of an operation."""
    return family_called(OPERATIONS[operation].family)


@cache
def family_called(name: str) -> Family:
    """Return a family by its name, one of :data:`attnspec.contract.FAMILIES`."""
    return import_module(f"attnspec.families.{name}.family").FAMILY
