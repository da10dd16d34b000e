"""Impostors of rotary positions: cheap wrong answers that a set of cases must be able to tell from right ones."""

from attnspec.families.rotary.impostors.frequencies import FREQUENCY
from attnspec.families.rotary.impostors.rotation import ROTATION
from attnspec.families.rotary.impostors.tables import TABLES

IMPOSTORS = {"apply_rotary": ROTATION, "rotary_frequencies": FREQUENCY, "rotary_tables": TABLES}

__all__ = ["IMPOSTORS"]
