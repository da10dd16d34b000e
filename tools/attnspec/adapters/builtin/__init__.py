"""Adapters that come with attnspec. Each is imported only when it is named."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["BUILT_IN", "installation"]

BUILT_IN: Mapping[str, str] = {
    "reference": "attnspec.adapters.builtin.reference",
    "torch": "attnspec.adapters.builtin.torch",
}
"""Name of a built-in adapter to the module that is one."""

_EXTRAS: Mapping[str, str] = {"torch": "torch"}


def installation(name: str) -> str | None:
    """Tell how to install what a built-in adapter needs beyond attnspec itself.

    Parameters
    ----------
    name
        A name in :data:`BUILT_IN`.

    Returns
    -------
    str or None
        The command, or None for an adapter that needs nothing more.
    """
    extra = _EXTRAS.get(name)
    return None if extra is None else f'pip install "attnspec[{extra}]"'
