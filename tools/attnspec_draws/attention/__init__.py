"""Random cases of attention."""

from attnspec_draws.attention.operations import CASE_GENERATORS
from attnspec_draws.attention.parts.extents import extents_of, with_few_heads
from attnspec_draws.attention.parts.large import part_of
from attnspec_draws.attention.trivial_attention import TRIVIAL_ATTENTION
from attnspec_draws.attention.trivial_layers import TRIVIAL_LAYERS
from attnspec_draws.generators.random_cases import RandomCases

RANDOM_CASES = RandomCases(
    case_generators=CASE_GENERATORS,
    trivial_answers={**TRIVIAL_LAYERS, **TRIVIAL_ATTENTION},
    extents_of=extents_of,
    with_few_heads=with_few_heads,
    part_of=part_of,
)
