"""Random cases of masks."""

from attnspec_draws.generators.random_cases import CaseGenerator, RandomCases
from attnspec_draws.masks.attention_masks import draw_mask, extents_of
from attnspec_draws.masks.trivial_masks import TRIVIAL_MASKS

RANDOM_CASES = RandomCases(
    case_generators={"attention_mask": CaseGenerator(draw_mask, frozenset())},
    trivial_answers=TRIVIAL_MASKS,
    extents_of=extents_of,
)
"""Random cases of masks, which have no features beside their arguments."""
