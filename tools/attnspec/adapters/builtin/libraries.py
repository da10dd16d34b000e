"""The libraries that built-in adapters run: imported when an adapter is, with a sentence where that fails."""

from __future__ import annotations

import importlib
from typing import Any

from attnspec.errors import MissingDependencyError

__all__ = ["import_library", "installation"]

_EXTRA = "implementations"


def import_library(module: str, *, adapter: str) -> Any:
    """Import a third-party module by name, because attnspec is type-checked where it is not installed.

    Parameters
    ----------
    module
        The module, such as ``"torch.nn.attention"``.
    adapter
        Name of the built-in adapter that needs it.

    Raises
    ------
    MissingDependencyError
        If it cannot be imported.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingDependencyError(
            f"The adapter {adapter!r} needs {module.partition('.')[0]}, which cannot be imported ({error}). "
            f"Install it with: {installation()}"
        ) from error


def installation() -> str:
    """Return the command that installs what the built-in adapters need beyond attnspec itself."""
    return f'pip install "attnspec[{_EXTRA}]"'
