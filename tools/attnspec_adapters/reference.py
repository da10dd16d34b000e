"""The built-in adapter `reference`: attnspec's own reference, tested like any other software."""

from types import SimpleNamespace

import attnspec_reference
from attnspec.base import __version__
from attnspec.contract import OPERATIONS
from attnspec.contract.dtypes import FLOAT_DTYPES
from attnspec.contract.layout import layout_name
from attnspec_reference import in_blocks

__all__ = ["adapter"]


def adapter(layout: str | None = None) -> SimpleNamespace:
    """Return the reference, with the functions that it has for a layout instead of the contract's."""
    functions = {
        operation: getattr(in_blocks, operation, None) or getattr(attnspec_reference, operation)
        for operation in OPERATIONS
    }
    if layout is not None:
        functions |= attnspec_reference.IN_LAYOUT.get(layout_name(layout) or "", {})
    # It takes every normative choice, so it declares no convention.
    return SimpleNamespace(
        name="attnspec reference",
        version=__version__,
        dtypes=FLOAT_DTYPES,
        **functions,
    )
