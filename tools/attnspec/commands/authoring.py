"""Import of the authors' packages, which a checkout alone has; no other module imports them."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from attnspec.base.errors import UsageError

_AUTHORING = "attnspec_authoring"


def authoring(room: str, *, wanted_by: str) -> Any:
    """Import a package of `attnspec_authoring` such as ``"regeneration"``; `UsageError` outside a checkout.

    `wanted_by` is the command named in the message.
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
