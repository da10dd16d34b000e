"""Random cases of norms."""

from attnspec_draws.generators.memory import MEMORY_ORDER
from attnspec_draws.generators.random_cases import CaseGenerator, RandomCases
from attnspec_draws.generators.refusing import Misfit, Refusals
from attnspec_draws.generators.special_numbers import Resized
from attnspec_draws.norms.normalizing import CLASSES, LARGEST, NONFINITE, draw_qk_norm, draw_rms_norm, extents_of
from attnspec_draws.norms.trivial_norms import TRIVIAL_NORMS

_OFFSETS = ("", "ONE", "minus_one")
_ROWS, _PAIR = "rms_norm.rejects", "qk_norm.rejects"
_WEIGHT, _TABLE = (Refusals((f"{_PAIR}.{name}",), f"{_PAIR}.{name}") for name in ("weight", "tables"))
_TOKENS = f"{_PAIR}.tokens"

RANDOM_CASES = RandomCases(
    case_generators={
        "rms_norm": CaseGenerator(
            draw_rms_norm,
            CLASSES | {NONFINITE, MEMORY_ORDER},
            {"weight": Refusals((f"{_ROWS}.weight",), f"{_ROWS}.weight")},
            resized=(Resized(("x",)),),
            largest_whole=LARGEST,
            misfits=(Misfit("weight_offset", f"{_ROWS}.weight_offset", lambda _: _OFFSETS),),
        ),
        "qk_norm": CaseGenerator(
            draw_qk_norm,
            CLASSES | {MEMORY_ORDER},
            {
                "key": Refusals((_TOKENS, None, _TOKENS, _TOKENS), f"{_PAIR}.rank"),
                "query_weight": _WEIGHT,
                "key_weight": _WEIGHT,
                "cos": _TABLE,
                "sin": _TABLE,
            },
            resized=(Resized(("query", "key")),),
            largest_whole=LARGEST,
            misfits=(
                Misfit("normalized_over", f"{_PAIR}.normalized_over", lambda _: ("", "HEAD", "heads")),
                Misfit("weight_offset", f"{_PAIR}.weight_offset", lambda _: _OFFSETS),
                Misfit(
                    "pairing",
                    f"{_PAIR}.pairing",
                    lambda drawn: ("", "HALF", "halves", "neox") if "cos" in drawn.inputs else (),
                ),
            ),
        ),
    },
    trivial_answers=TRIVIAL_NORMS,
    extents_of=extents_of,
)
