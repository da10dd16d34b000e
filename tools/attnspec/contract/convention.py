"""What a convention is: a matter in which good libraries differ."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto


class Settles(Enum):
    """What a convention settles, which says where the harness reads it.

    Attributes
    ----------
    RESULTS
        What is owed; the family says how.
    REFUSALS
        Which inputs must be refused.
    INNER_PRECISION
        In which dtype float64 is computed inside; the choices but the first are dtypes.
    ROUNDINGS
        Whether half precision is rounded between phases; the choice that is not normative rounds at the end alone.
    ATTRIBUTE
        Which values of the attribute of its name are offered. An implementation with one value alone does not take
        the attribute.
    LIFETIME
        How long outputs hold; by the choice that is not normative, until the next call.
    """

    RESULTS = auto()
    REFUSALS = auto()
    INNER_PRECISION = auto()
    ROUNDINGS = auto()
    ATTRIBUTE = auto()
    LIFETIME = auto()


@dataclass(frozen=True)
class Convention:
    """One convention.

    Attributes
    ----------
    name
        Its name.
    choices
        Its choices; the first one is normative.
    settles
        What it settles.
    sentence
        What it settles, in words, the choices in their order: the end of a sentence.
    decision
        The record in ``spec/decisions`` that says why, without its suffix; None where there is none.
    is_about_nan
        Whether it settles what becomes of NaN. Who refuses that must do so where an input holds NaN and a result would;
        elsewhere to refuse is open.
    """

    name: str
    choices: tuple[str, ...]
    settles: Settles = Settles.RESULTS
    sentence: str = ""
    decision: str | None = None
    is_about_nan: bool = False
