"""What rotary frequencies refuse: widths without pairs, unknown scalings, parameters that are missing or make no sense.

Each check raises one plain sentence that quotes what was given. Part of rotary frequencies, whose page is
``spec/operations/rotary/rotary_frequencies.md``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

NEEDED: Mapping[str, tuple[str, ...]] = {
    "none": (),
    "linear": ("factor",),
    "dynamic": ("factor", "original_length"),
    "llama3": ("factor", "original_length", "low_frequency_factor", "high_frequency_factor"),
    "longrope": ("factor", "original_length", "short_factors", "long_factors"),
    "proportional": ("factor",),
    "yarn": ("factor", "original_length"),
}
"""Every scaling, with the parameters that it cannot do without."""


def check_width(width: int) -> None:
    """Refuse a number of features that does not make pairs."""
    if width < 2 or width % 2:
        raise ValueError(f"width is {width}; features turn in pairs, so it needs an even number of at least 2.")


def needed_parameters(scaling: str, **given: Any) -> Mapping[str, Any]:
    """Pick the parameters that a scaling needs, and refuse an unknown scaling and a parameter that is missing."""
    if scaling not in NEEDED:
        raise ValueError(f"scaling is {scaling!r}; it must be one of {', '.join(NEEDED)}.")
    if scaling == "proportional" and given["factor"] is None:
        given["factor"] = 1.0
    for name in NEEDED[scaling]:
        if given[name] is None:
            raise ValueError(f"scaling is {scaling!r}, which needs {name}; it is not given.")
    return {name: given[name] for name in NEEDED[scaling]}


def check_ranges(scaling: str, width: int, theta: float, proportion: float, needed: Mapping[str, Any]) -> None:
    """Refuse numbers for which the formula of the scaling divides by zero, has no logarithm, or means nothing."""
    if not theta > 0 or (scaling == "yarn" and theta <= 1):
        raise ValueError(f"theta is {theta}; it must be above 0, and above 1 for yarn.")
    if "factor" in needed and not needed["factor"] > 0:
        raise ValueError(f"factor is {needed['factor']}; it must be above 0.")
    if scaling == "dynamic" and width < 4:
        raise ValueError(f"width is {width}; dynamic scaling needs at least 4, for its exponent is R / (R - 2).")
    if scaling == "llama3" and not needed["low_frequency_factor"] < needed["high_frequency_factor"]:
        raise ValueError(
            f"low_frequency_factor is {needed['low_frequency_factor']}, high_frequency_factor "
            f"{needed['high_frequency_factor']}; the low one must be below the high one."
        )
    if scaling == "proportional" and not 0 <= proportion <= 1:
        raise ValueError(f"proportion is {proportion}; it must lie between 0 and 1.")


def check_factor_lists(width: int, needed: Mapping[str, Any]) -> None:
    """Refuse lists of factors that do not hold one number for each pair."""
    for name in ("short_factors", "long_factors"):
        if name in needed and np.shape(needed[name]) != (width // 2,):
            raise ValueError(
                f"{name} has the shape {np.shape(needed[name])}; {width} features make {width // 2} pairs, and each "
                "needs a factor of its own."
            )
