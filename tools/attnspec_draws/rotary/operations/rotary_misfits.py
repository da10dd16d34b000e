"""Which other values of arguments the pages of rotary positions refuse."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attnspec_draws.generators import Misfit

if TYPE_CHECKING:
    from collections.abc import Mapping

    from attnspec_draws.generators import Drawn

_PAIRINGS = ("", "HALF", "halves", "neox")
_SCALINGS = ("", "YARN", "ntk", "su")
"""Names of a pairing and a scaling elsewhere, and names of none."""


def _unknown(argument: str, clause: str, values: tuple[str, ...]) -> Misfit:
    """Return words that are none of those that an argument may be, whether it is stated or not."""
    return Misfit(argument, clause, lambda _: values)


def _widths(drawn: Drawn) -> list[int]:
    width = drawn.attributes["width"]
    return [width + 1, width - 1, 0, -width]


def _not_above_zero(argument: str) -> Misfit:
    def values(drawn: Drawn) -> list[float]:
        return [0.0, -drawn.attributes[argument]] if argument in drawn.attributes else []

    return Misfit(argument, "rotary_frequencies.rejects.range", values)


def _lists(argument: str) -> Misfit:
    """Return lists of factors with one element more, and with one fewer."""

    def values(drawn: Drawn) -> list[Any]:
        factors = drawn.attributes.get(argument)
        return [] if factors is None else [[*factors, factors[-1]], factors[:-1]]

    return Misfit(argument, "rotary_frequencies.rejects.factor_lists", values)


def _high_factors(drawn: Drawn) -> list[float]:
    low = drawn.attributes.get("low_frequency_factor")
    return [] if low is None or "high_frequency_factor" not in drawn.attributes else [low, low / 2]


def _proportions(drawn: Drawn) -> list[float]:
    return [-0.125, 1.125] if "proportion" in drawn.attributes else []


MISFITS: Mapping[str, tuple[Misfit, ...]] = {
    "apply_rotary": (_unknown("pairing", "apply_rotary.rejects.pairing", _PAIRINGS),),
    "rotary_frequencies": (
        Misfit("width", "rotary_frequencies.rejects.width", _widths),
        _unknown("scaling", "rotary_frequencies.rejects.scaling", _SCALINGS),
        _not_above_zero("theta"),
        _not_above_zero("factor"),
        Misfit("high_frequency_factor", "rotary_frequencies.rejects.range", _high_factors),
        Misfit("proportion", "rotary_frequencies.rejects.range", _proportions),
        _lists("short_factors"),
        _lists("long_factors"),
    ),
}
