"""Lookup of a family, which the harness does here alone, and the capabilities that a case needs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from attnspec.contract import OPERATIONS

if TYPE_CHECKING:
    from attnspec.cases import Case
    from attnspec.families.record import Family


@cache
def family_of(operation: str) -> Family:
    """Return the family of an operation."""
    return family_called(OPERATIONS[operation].family)


@cache
def family_called(name: str) -> Family:
    """Return a family by its name, one of :data:`attnspec.contract.FAMILIES`."""
    return import_module(f"attnspec.families.{name}.family").FAMILY


def needed_capabilities(case: Case) -> frozenset[str]:
    """Return the capabilities that a case needs: those of its family, and its arguments that are no defaults."""
    defaults = OPERATIONS[case.operation].attributes
    stated = (name for name, value in case.attributes.items() if value != defaults.get(name))
    return family_of(case.operation).needs(case).union(case.inputs, stated)


def lacking_capability(case: Case, without: Sequence[str]) -> str | None:
    """Return the first capability that a case needs of those that are not offered; None where it needs none of them."""
    if not without:
        return None
    found = needed_capabilities(case)
    values = {f"{name}={said}" for name, value in case.attributes.items() for said in (value, json.dumps(value))}
    return next((word for word in without if word in found or word in values), None)
