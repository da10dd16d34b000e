"""The conventions in which good libraries differ, and what an implementation declares of them.

The spec takes the first choice of each as normative. An implementation may declare another, for everything it does
or for one operation (``softmax.fully_masked_row``); the qualified declaration wins.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from attnspec.errors import UsageError
from attnspec.operations import OPERATIONS

if TYPE_CHECKING:
    from collections.abc import Mapping

CHOICES: Mapping[str, tuple[str, ...]] = {
    "accumulation": ("dtype", "float32"),
    "alibi_bias": ("distance", "column"),
    "causal_alignment": ("any", "top_left", "bottom_right"),
    "empty_logsumexp": ("minus_infinity", "plus_infinity"),
    "fully_masked_row": ("zero", "nan", "uniform", "filled", "refuse"),
    "half_precision_grade": ("unfused", "fused"),
    "input_checks": ("strict", "lenient"),
    "logsumexp_base": ("e", "2"),
    "masked_nonfinite": ("ignored", "propagates"),
    "no_keys": ("zero", "nan", "refuse"),
    "nonfinite_input": ("propagates", "refuse"),
}
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
    """Return the choice of every convention for one operation: qualified, else general, else normative."""
    resolved = dict(_NORMATIVE)
    for qualified in (False, True):
        for key, choice in conventions.items():
            of, _, name = key.rpartition(".")
            if bool(of) == qualified and of in ("", operation):
                resolved[name] = choice
    return resolved


def is_normative(name: str, choice: str) -> bool:
    """Tell whether `choice` is the one that the spec takes as normative."""
    return CHOICES[name][0] == choice
