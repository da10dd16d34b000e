"""The built-in adapter `reference`: attnspec's own reference, tested like any other software."""

from __future__ import annotations

from types import SimpleNamespace

import attnspec_reference
from attnspec.contract import OPERATIONS
from attnspec.dtypes import FLOAT_DTYPES
from attnspec.version import __version__

__all__ = ["adapter"]

# It takes every normative choice, so it declares no convention.
adapter = SimpleNamespace(
    name="attnspec reference",
    version=__version__,
    dtypes=FLOAT_DTYPES,
    **{operation: getattr(attnspec_reference, operation) for operation in OPERATIONS},
)
