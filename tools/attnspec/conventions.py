"""The conventions in which good libraries differ, and what an implementation declares of them.

The spec takes the first choice of each as normative. An implementation may declare another, for everything it does
or for one operation; the qualified declaration wins. Which conventions there are is for the families to say.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from attnspec.contract import CONVENTIONS, OPERATIONS
from attnspec.convention import Settles
from attnspec.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

CHOICES: Mapping[str, tuple[str, ...]] = {name: convention.choices for name, convention in CONVENTIONS.items()}
"""Convention to its choices; the first one is normative."""

_NORMATIVE: Mapping[str, str] = {name: choices[0] for name, choices in CHOICES.items()}


def check(conventions: Mapping[str, str], *, said_by: str) -> None:
    """Raise `UsageError` for a convention or a choice that the spec does not know.

    Parameters
    ----------
    conventions
        Declared conventions, possibly qualified by an operation.
    said_by
        Who declared them, for the message.
    """
    for key, choice in conventions.items():
        operation, _, name = key.rpartition(".")
        if operation and operation not in OPERATIONS:
            known = ", ".join(OPERATIONS)
            raise UsageError(
                f"{said_by} declares the convention {key!r}, but there is no operation {operation!r}; "
                f"the operations are {known}."
            )
        if name not in CHOICES:
            known = ", ".join(CHOICES)
            raise UsageError(f"{said_by} declares the unknown convention {name!r}; the conventions are {known}.")
        if choice not in CHOICES[name]:
            known = ", ".join(CHOICES[name])
            raise UsageError(f"{said_by} declares {key}={choice!r}; the choices for {name} are {known}.")


def resolve(conventions: Mapping[str, str], operation: str) -> dict[str, str]:
    """Return the choice of every convention for one operation: qualified, else general, else normative.

    What does not concern the operation stays normative, whatever is declared in general.
    """
    resolved = dict(_NORMATIVE)
    concerning = OPERATIONS[operation].conventions
    for qualified in (False, True):
        for key, choice in conventions.items():
            of, _, name = key.rpartition(".")
            if bool(of) == qualified and of in ("", operation) and name in concerning:
                resolved[name] = choice
    return resolved


def is_normative(name: str, choice: str) -> bool:
    """Tell whether `choice` is the one that the spec takes as normative."""
    return CHOICES[name][0] == choice


@cache
def settling(what: Settles) -> tuple[str, ...]:
    """Return the names of the conventions that settle something."""
    return tuple(name for name, convention in CONVENTIONS.items() if convention.settles is what)


def departs(what: Settles, resolved: Mapping[str, str]) -> bool:
    """Tell whether a choice other than the normative one is declared in what a kind of convention settles."""
    return any(resolved[name] != _NORMATIVE[name] for name in settling(what))


def inner_dtype(resolved: Mapping[str, str]) -> str | None:
    """Return the dtype that float64 is computed in inside, where another than float64 is declared."""
    return next(
        (resolved[name] for name in settling(Settles.INNER_PRECISION) if not is_normative(name, resolved[name])), None
    )


def fixed_attributes(resolved: Mapping[str, str]) -> dict[str, str]:
    """Return the attributes that an implementation has one value of and does not take, with that value."""
    return {name: resolved[name] for name in settling(Settles.ATTRIBUTE) if not is_normative(name, resolved[name])}
