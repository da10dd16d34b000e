"""What documents print: numbers with their decimals, and how far the scores of printed inputs can move.

Printed numbers stay strings until they are compared, because a string alone says how many decimals were
printed.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec.base.errors import RecipeError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

UNREADABLE = "?"
"""Stands for a number that the document cuts off."""


def row(text: str) -> list[str | None]:
    """Split one printed row into its numbers; ``?`` becomes None."""
    return [None if number == UNREADABLE else number for number in text.split()]


def rows(*texts: str) -> list[list[str | None]]:
    """Split printed rows into their numbers, one list for each row."""
    return [row(text) for text in texts]


def propagated_rounding(
    printed: Mapping[str, Any], inputs: Mapping[str, NDArray[Any]], attributes: Mapping[str, Any]
) -> NDArray[Any]:
    """Return how far the scores can move when printed query and key move within half a unit.

    |dS| <= |scale| * sum(|query| dk + dq |key| + dq dk), exactly, in the shape of the printed scores.
    """
    if printed["of"] != "scores" or set(printed["rounded_inputs"]) != {"query", "key"} or "scale" not in attributes:
        raise RecipeError(
            f"How the rounding of printed inputs reaches {printed['of']!r} is not known; "
            "it is for scores from query and key with an explicit scale."
        )
    query, key = (_exact(inputs[name][tuple(printed["index"])]) for name in ("query", "key"))
    query_unit, key_unit = (Fraction(10) ** -printed["rounded_inputs"][name] / 2 for name in ("query", "key"))
    width = query.shape[-1]
    span = (
        np.abs(query).sum(axis=-1)[:, None] * key_unit
        + np.abs(key).sum(axis=-1)[None, :] * query_unit
        + width * query_unit * key_unit
    )
    return span * abs(Fraction(attributes["scale"]))


def _exact(array: NDArray[Any]) -> NDArray[Any]:
    return np.array([Fraction(value) for value in array.flat], dtype=object).reshape(array.shape)
