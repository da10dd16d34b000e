"""Capabilities: what an implementation may say that it does not offer, and which cases need it.

A capability is a word of a family (:data:`attnspec.contract.CAPABILITIES`), the name of an argument, or an argument
with one of its values, as ``argument=value``.
"""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

from attnspec.contract import CAPABILITIES, OPERATIONS, family_of
from attnspec.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from attnspec.cases import Case

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
    """Tell whether a word is a capability, or the name of an argument that a case may leave out."""
    return word in CAPABILITIES or word in _OPTIONAL


def can_be_missing(word: str) -> bool:
    """Tell whether a word is what an implementation may be without: a capability, or an argument with a value."""
    argument, sign, _ = word.partition("=")
    with_value = bool(sign) and any(argument in operation.attributes for operation in OPERATIONS.values())
    return with_value or is_capability(word)


def check(without: Sequence[str], *, said_by: str) -> None:
    """Raise `UsageError` for a capability that there is not.

    Parameters
    ----------
    without
        The capabilities that are not offered.
    said_by
        Who said so, for the message.
    """
    for word in without:
        if can_be_missing(word):
            continue
        near = get_close_matches(word, (*CAPABILITIES, *_OPTIONAL), n=1)
        raise UsageError(
            f"{said_by} is without {word!r}, which is no capability."
            + (f" Did you mean {near[0]}?" if near else "")
            + " `attnspec explain capabilities` lists them."
        )


def needed(case: Case) -> frozenset[str]:
    """Return the capabilities that a case needs: those of its family, and the arguments that it does not leave out.

    An attribute at its default is left out.

    Parameters
    ----------
    case
        Any case.
    """
    defaults = OPERATIONS[case.operation].attributes
    stated = (name for name, value in case.attributes.items() if value != defaults.get(name))
    return family_of(case.operation).needs(case).union(case.inputs, stated)


def lacking(case: Case, without: Sequence[str]) -> str | None:
    """Return the first of the capabilities that are not offered which a case needs; None where it needs none of them.

    Parameters
    ----------
    case
        Any case.
    without
        The capabilities that are not offered.
    """
    found = needed(case)
    values = {f"{name}={value}" for name, value in case.attributes.items()}
    return next((word for word in without if word in found or word in values), None)
