"""Case generators of rotary positions: what a drawn case of each operation may have, and how often."""

from attnspec_draws.generators.memory import MEMORY_ORDER, ONE_ARRAY, ONE_PART
from attnspec_draws.generators.random_cases import CaseGenerator
from attnspec_draws.generators.refusing import Refusals
from attnspec_draws.generators.special_numbers import ALIKE, Resized
from attnspec_draws.rotary.operations.frequencies import MISFITS_OF_FREQUENCIES, draw_frequencies
from attnspec_draws.rotary.operations.rotation import (
    HEAVY,
    MISFIT_OF_ROTATION,
    NONFINITE,
    PARTIAL,
    STANDING,
    draw_rotation,
)
from attnspec_draws.rotary.operations.tables import TURNED, draw_tables

_TABLE = Refusals(("apply_rotary.rejects.tables",) * 3, "apply_rotary.rejects.rank")
_TOKENS, _WIDTH = "apply_rotary.rejects.tokens", "apply_rotary.rejects.width"
_RANK = Refusals(rank="rotary_tables.rejects.rank")

CASE_GENERATORS = {
    "apply_rotary": CaseGenerator(
        draw_rotation,
        frozenset(("full_width", "quarter_turns", HEAVY, PARTIAL, NONFINITE, STANDING))
        | {ALIKE, ONE_ARRAY, ONE_PART, MEMORY_ORDER},
        {"x": Refusals((_TOKENS, None, _TOKENS, _WIDTH), "apply_rotary.rejects.rank"), "cos": _TABLE, "sin": _TABLE},
        resized=(Resized(("x",)),),
        misfits=(MISFIT_OF_ROTATION,),
    ),
    "rotary_frequencies": CaseGenerator(draw_frequencies, frozenset(), misfits=MISFITS_OF_FREQUENCIES),
    "rotary_tables": CaseGenerator(
        draw_tables,
        frozenset(("full_width", TURNED, MEMORY_ORDER)),
        {"position_ids": _RANK, "inverse_frequencies": _RANK},
    ),
}

__all__ = ["CASE_GENERATORS"]
