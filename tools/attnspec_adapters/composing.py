"""A library's adapter, put together from a module for each family that the library has operators of."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from types import SimpleNamespace
from typing import Any

from attnspec.contract import FAMILIES, OPERATIONS


def composed(package: str, *, name: str, version: str, dtypes: tuple[str, ...]) -> SimpleNamespace:
    """Return an adapter that holds what the modules of a package hold, which are named after families.

    Parameters
    ----------
    package
        The library's package, such as ``attnspec_adapters.jax``.
    name, version, dtypes
        What the adapter says of the library. A module may say otherwise of some operations, in `dtypes` by operation.

    Returns
    -------
    SimpleNamespace
        The operations, with the conventions that the modules declare, and the capabilities that they are without.
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
