"""The libraries that built-in adapters run: imported when an adapter is, with a sentence where that fails."""

import importlib
from collections.abc import Mapping
from typing import Any

from attnspec.base.errors import MissingDependencyError

__all__ = ["OWN_EXTRAS", "SHARED_EXTRA", "extra_of", "import_library", "installation"]

SHARED_EXTRA = "implementations"
"""The extra of the libraries that live together in one environment."""

OWN_EXTRAS: Mapping[str, str] = {
    "flax": "flax",
    "keras": "keras",
    "mlx": "mlx",
    "openvino": "openvino",
    "paddle": "paddle",
    "tinygrad": "tinygrad",
}
"""Adapter to the extra of a large, slow or unsociable library: `make libraries` runs it in its own environment."""


def extra_of(adapter: str) -> str:
    """Return the extra that installs what a built-in adapter needs."""
    return OWN_EXTRAS.get(adapter, SHARED_EXTRA)


def import_library(module: str, *, adapter: str) -> Any:
    """Import a third-party module by name, because attnspec is type-checked where it is not installed.

    Raises `MissingDependencyError` with the command that installs it for the adapter.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingDependencyError(
            f"The adapter {adapter!r} needs {module.partition('.')[0]}, which cannot be imported ({error}). "
            f"Install it with: {installation(adapter)}"
        ) from error


def installation(adapter: str) -> str:
    """Return the command that installs what a built-in adapter needs beyond attnspec itself."""
    return f'pip install "attnspec[{extra_of(adapter)}]"'
