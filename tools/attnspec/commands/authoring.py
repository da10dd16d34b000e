"""What only authors of the suite need lies in a checkout alone: the one place that reaches for it."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from attnspec.base.errors import UsageError

_AUTHORING = "attnspec_authoring"


def authoring(room: str, *, wanted_by: str) -> Any:
    """Import a package of `attnspec_authoring`.

    Parameters
    ----------
    room
        The package, such as ``"regeneration"``.
    wanted_by
        The command that needs it, for the message.

    Raises
    ------
    UsageError
        Outside a checkout.
    """
    try:
        return import_module(f"{_AUTHORING}.{room}")
    except ModuleNotFoundError as error:
        if error.name != _AUTHORING:
            raise
        raise UsageError(
            f"`{wanted_by}` works in a checkout of attnspec, where the recipes of its cases are: clone the repository "
            "and install it with `pip install --editable .`"
        ) from None
