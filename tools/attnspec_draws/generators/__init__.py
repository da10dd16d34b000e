"""Case generators: what a case made from a seed may have, and what draws it.

This room holds what all families draw with; what is drawn, and how often, is in the rooms of each family.
"""

from attnspec_draws.generators.drawn import CHANGED, Drawn, argument_to_change, other_value, those
from attnspec_draws.generators.limits import FEWEST, NO_AXES, Limits, as_stated, draw_axes
from attnspec_draws.generators.memory import (
    MEMORY_ORDER,
    ONE_ARRAY,
    ONE_PART,
    draw_memory_order,
    laid_out,
    share_memory,
)
from attnspec_draws.generators.random_cases import CaseGenerator
from attnspec_draws.generators.refusing import REFUSED, TWICE, Misfit, Refusals, malformed, of_another_value
from attnspec_draws.generators.special_numbers import (
    ALIKE,
    BEYOND_FLOAT16,
    NOT_FINITE,
    Resized,
    beyond_float16,
    make_alike,
    spoil_one,
)
from attnspec_draws.generators.words import REVERSED, Stream, Words, coarse, coarse_or_wide, full_width, whole_numbers

__all__ = [
    "ALIKE",
    "BEYOND_FLOAT16",
    "CHANGED",
    "FEWEST",
    "MEMORY_ORDER",
    "NOT_FINITE",
    "NO_AXES",
    "ONE_ARRAY",
    "ONE_PART",
    "REFUSED",
    "REVERSED",
    "TWICE",
    "CaseGenerator",
    "Drawn",
    "Limits",
    "Misfit",
    "Refusals",
    "Resized",
    "Stream",
    "Words",
    "argument_to_change",
    "as_stated",
    "beyond_float16",
    "coarse",
    "coarse_or_wide",
    "draw_axes",
    "draw_memory_order",
    "full_width",
    "laid_out",
    "make_alike",
    "malformed",
    "of_another_value",
    "other_value",
    "share_memory",
    "spoil_one",
    "those",
    "whole_numbers",
]
