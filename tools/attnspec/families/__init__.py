"""Families of operators: sets of operations that share notation, steps and tolerance.

A family is a folder here. Its ``contract`` says, as data, which operations and conventions it has; its ``family``
brings what the harness must know to judge them. The harness looks a family up by :func:`family_of` alone.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from attnspec.family import Family

FAMILIES = ("attention",)
"""Every family, in the order of the spec."""


@cache
def family_of(operation: str) -> Family:
    """Return the family of an operation."""
    from attnspec.contract import OPERATIONS

    return family_called(OPERATIONS[operation].family)


@cache
def family_called(name: str) -> Family:
    """Return a family by its name, one of `FAMILIES`."""
    return import_module(f"attnspec.families.{name}.family").FAMILY
