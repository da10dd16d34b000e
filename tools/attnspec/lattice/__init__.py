"""The lattice of a family: what a case made from a seed may have, and what draws it.

This room holds what all families draw with; what is drawn, and how often, is in the rooms of each family.
"""

from attnspec.lattice.alike import ALIKE, make_alike
from attnspec.lattice.changing import CHANGED, argument_to_change, other_value
from attnspec.lattice.drawn import Drawn
from attnspec.lattice.lattice import Lattice
from attnspec.lattice.lengths import as_stated, lengthened
from attnspec.lattice.limits import FEWEST, NO_AXES, Limits
from attnspec.lattice.memory import ONE_ARRAY, ONE_PART, share_memory
from attnspec.lattice.misfitting import Misfit, of_another_value
from attnspec.lattice.numbers import coarse, full_width, whole_numbers
from attnspec.lattice.presenting import draw_presentation
from attnspec.lattice.refusing import REFUSED, TWICE, Refusals, malformed
from attnspec.lattice.resizing import BEYOND_FLOAT16, Resized, beyond_float16
from attnspec.lattice.spoiling import HOLDING, spoil_one
from attnspec.lattice.words import REVERSED, Stream, Words

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
    "Drawn",
    "Lattice",
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
    "draw_presentation",
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
