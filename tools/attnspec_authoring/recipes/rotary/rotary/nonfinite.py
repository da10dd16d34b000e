"""NaN and infinities in features and tables: whom they reach, and whom they must leave alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_authoring.recipes.generator import grid
from attnspec_authoring.recipes.rotary.rotary.rotations import both

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from attnspec_authoring.recipes.authoring import AuthoredCase

REACH: dict[str, Any] = {"clauses": ("nonfinite",)}
Spot = tuple[tuple[int, ...], float]


def holding(name: str, *placed: Spot, shape: tuple[int, ...] = (1, 1, 2, 7)) -> NDArray[np.float64]:
    """Draw features, or a table, and put numbers at places of them."""
    numbers = grid(f"rotary/{name}", shape)
    for place, number in placed:
        numbers[place] = number
    return numbers


def beyond() -> tuple[AuthoredCase, ...]:
    """Hold NaN and infinity in features that are not rotated, of an even number.

    A rotation of all features that gives those from R on an angle of zero spreads them: infinity times zero is NaN.
    """
    wide, narrow = (1, 2, 2, 8), (2, 1, 2, 4)
    return tuple(
        case
        for name, what, number in (
            ("nan", "NaN", np.nan),
            ("infinity", "infinity", np.inf),
            ("minus_infinity", "minus infinity", -np.inf),
        )
        for case in (
            *both(
                f"{name}_beyond", f"{what} in the fifth and in the last of eight features, of which four are rotated"
            )(
                wide,
                4,
                x=holding(f"{name}_beyond", ((0, 0, 0, 4), number), ((0, 1, 1, 7), number), shape=wide),
                **REACH,
            ),
            *both(f"{name}_behind_one_pair", f"{what} in both features behind a single pair")(
                narrow,
                2,
                x=holding(f"{name}_behind", ((0, 0, 0, 2), number), ((1, 0, 1, 3), number), shape=narrow),
                **REACH,
            ),
        )
    )


def in_tables() -> tuple[AuthoredCase, ...]:
    """Hold NaN in the tables of one token, as padding may: other tokens and features stay clean."""
    shape, table = (2, 2, 3, 6), (2, 3, 2)
    return tuple(
        case
        for name, spots in {
            "cosine": {"cos": holding("nan_cos", ((0, 1, 1), np.nan), shape=table)},
            "sine": {"sin": holding("nan_sin", ((1, 2, 0), np.nan), shape=table)},
        }.items()
        for case in both(f"nan_{name}", f"NaN in the {name} of one pair of one token")(shape, 4, **spots, **REACH)
    )


def at_rest() -> tuple[AuthoredCase, ...]:
    """Hold infinities in a token that is turned by no angle: infinity times a sine of 0 is NaN all the same."""
    shape, table = (1, 2, 3, 6), (1, 3, 2)
    stands = (np.arange(3) == 0)[np.newaxis, :, np.newaxis]
    cosines = np.where(stands, 1.0, grid("rotary/at_rest_cos", table) / 2.0)
    sines = np.where(stands, 0.0, grid("rotary/at_rest_sin", table) / 2.0)
    return tuple(
        case
        for word, number in (("infinity", np.inf), ("minus_infinity", -np.inf), ("nan", np.nan))
        for case in both(
            f"{word}_at_rest", f"{word.replace('_', ' ')} in a feature of the first token, which is turned by no angle"
        )(
            shape,
            4,
            x=holding(f"{word}_at_rest", ((0, 1, 0, 1), number), ((0, 0, 0, 2), number), shape=shape),
            cos=cosines,
            sin=sines,
            **REACH,
        )
    )


def cases() -> tuple[AuthoredCase, ...]:
    """Return the cases of rotations that hold numbers which are not finite."""
    return (
        # Hold NaN and infinity in features of one pair, and in one that is not rotated, of seven features.
        *both("nan", "NaN in a first feature")((1, 1, 2, 7), 6, x=holding("nan", ((0, 0, 0, 0), np.nan)), **REACH),
        *both("nan_second", "NaN in a last feature")(
            (1, 1, 2, 7), 6, x=holding("nan_2", ((0, 0, 1, 5), np.nan)), **REACH
        ),
        *both("infinity", "infinity in a feature")(
            (1, 1, 2, 7), 6, x=holding("infinity", ((0, 0, 1, 2), np.inf)), **REACH
        ),
        *both("infinities", "infinities of both signs")(
            (1, 1, 2, 7),
            4,
            x=holding("infinities", ((0, 0, 0, 0), -np.inf), ((0, 0, 1, 1), np.inf), ((0, 0, 1, 2), -np.inf)),
            **REACH,
        ),
        *both("nan_untouched", "NaN in a feature that is not rotated")(
            (1, 1, 2, 7), 4, x=holding("nan_6", ((0, 0, 1, 6), np.nan), ((0, 0, 0, 4), np.inf)), **REACH
        ),
        *beyond(),
        *in_tables(),
        *at_rest(),
    )
