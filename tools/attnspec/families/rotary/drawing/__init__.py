"""The lattice of rotary positions: what a drawn case of each operation may have, and how often."""

from attnspec.families.rotary.drawing.rotation import NONFINITE, PARTIAL, draw_rotation
from attnspec.families.rotary.drawing.tables import draw_tables
from attnspec.lattice import ONE_ARRAY, ONE_PART, Lattice

LATTICES = {
    "apply_rotary": Lattice(
        draw_rotation,
        frozenset(("full_width", "quarter_turns", PARTIAL, NONFINITE, ONE_ARRAY, ONE_PART, "presentation")),
    ),
    "rotary_tables": Lattice(draw_tables, frozenset(("full_width", "presentation"))),
}

__all__ = ["LATTICES"]
