"""Capabilities that an implementation may say that it does not offer.

A capability is a word of a family (:data:`attnspec.contract.CAPABILITIES`), the name of an argument, or
``argument=value``. The family knows those that a case needs: :func:`attnspec.families.lookup.needed`.
"""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

from attnspec.base.errors import UsageError
from attnspec.contract import CAPABILITIES, OPERATIONS

if TYPE_CHECKING:
    from collections.abc import Sequence

_OPTIONAL = tuple(
    dict.fromkeys(
        argument
        for operation in OPERATIONS.values()
        for argument in operation.arguments
        if argument not in operation.required_arguments
    )
)
"""The arguments that a case may leave out."""


def is_capability(word: str) -> bool:
    """Return whether a word is a capability, or the name of an argument that a case may leave out."""
    return word in CAPABILITIES or word in _OPTIONAL


def can_be_missing(word: str) -> bool:
    """Return whether an implementation may be without a word: a capability, or an argument with a value."""
    argument, sign, _ = word.partition("=")
    with_value = bool(sign) and any(argument in operation.attributes for operation in OPERATIONS.values())
    return with_value or is_capability(word)


def check(without: Sequence[str], *, said_by: str) -> None:
    """Raise `UsageError`, naming `said_by`, for a word that is no capability."""
    for word in without:
        if can_be_missing(word):
            continue
        near = get_close_matches(word, (*CAPABILITIES, *_OPTIONAL), n=1)
        raise UsageError(
            f"{said_by} is without {word!r}, which is no capability."
            + (f" Did you mean {near[0]}?" if near else "")
            + " `attnspec explain capabilities` lists them."
        )
