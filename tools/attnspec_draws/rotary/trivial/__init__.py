"""Trivial answers of rotary positions: cheap and wrong; a set of cases must be able to tell them from right ones."""

from attnspec_draws.rotary.trivial.trivial_frequencies import FREQUENCY
from attnspec_draws.rotary.trivial.trivial_rotation import ROTATION
from attnspec_draws.rotary.trivial.trivial_tables import TABLES

TRIVIAL_ANSWERS = {"apply_rotary": ROTATION, "rotary_frequencies": FREQUENCY, "rotary_tables": TABLES}

__all__ = ["TRIVIAL_ANSWERS"]
