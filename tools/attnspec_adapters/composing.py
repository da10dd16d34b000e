"""A library's adapter, put together from a module for each family that the library has operators of."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from types import SimpleNamespace
from typing import Any

from attnspec.contract import FAMILIES, OPERATIONS


def composed(package: str, *, name: str, version: str, dtypes: tuple[str, ...]) -> SimpleNamespace:
    """Compose an adapter from the modules of a library's package, which are named after families.

    It holds their operations, conventions and lacking capabilities; a module's `dtypes`, by operation, override those
    here.
    """
    held: dict[str, Any] = {}
    conventions: dict[str, str] = {}
    without: tuple[str, ...] = ()
    differing: dict[str, tuple[str, ...]] = {}
    for family in FAMILIES:
        if find_spec(f"{package}.{family}") is None:
            continue
        module = import_module(f"{package}.{family}")
        held |= {operation: getattr(module, operation) for operation in OPERATIONS if hasattr(module, operation)}
        conventions |= module.conventions
        without += getattr(module, "without", ())
        differing |= getattr(module, "dtypes", {})
    by_operation = dict.fromkeys(held, dtypes) | differing
    return SimpleNamespace(
        name=name,
        version=version,
        dtypes=by_operation if differing else dtypes,
        conventions=conventions,
        without=without,
        **held,
    )
