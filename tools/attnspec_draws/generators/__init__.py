"""Case generators: what a case made from a seed may have, and what draws it.

This room holds what all families draw with; what is drawn, and how often, is in the rooms of each family.
"""

from attnspec_draws.generators.alike import ALIKE, make_alike
from attnspec_draws.generators.beyond_float16 import BEYOND_FLOAT16, Resized, beyond_float16
from attnspec_draws.generators.case_generator import CaseGenerator
from attnspec_draws.generators.changing import CHANGED, argument_to_change, other_value
from attnspec_draws.generators.drawn import Drawn
from attnspec_draws.generators.lengths import as_stated, lengthened
from attnspec_draws.generators.limits import FEWEST, NO_AXES, Limits
from attnspec_draws.generators.memory import ONE_ARRAY, ONE_PART, share_memory
from attnspec_draws.generators.misfitting import Misfit, of_another_value
from attnspec_draws.generators.numbers import coarse, full_width, whole_numbers
from attnspec_draws.generators.presenting import draw_memory_order
from attnspec_draws.generators.refusing import REFUSED, TWICE, Refusals, malformed
from attnspec_draws.generators.spoiling_one import HOLDING, spoil_one
from attnspec_draws.generators.words import REVERSED, Stream, Words

__all__ = [
    "ALIKE",
    "BEYOND_FLOAT16",
    "CHANGED",
    "FEWEST",
    "HOLDING",
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
    "draw_memory_order",
    "full_width",
    "lengthened",
    "make_alike",
    "malformed",
    "of_another_value",
    "other_value",
    "share_memory",
    "spoil_one",
    "whole_numbers",
]
