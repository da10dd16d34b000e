"""Random cases of attention."""

from attnspec_draws.attention.operations import CASE_GENERATORS, extents_of, with_few_heads
from attnspec_draws.attention.trivial import TRIVIAL_ANSWERS, part_of
from attnspec_draws.generators.random_cases import RandomCases

RANDOM_CASES = RandomCases(
    case_generators=CASE_GENERATORS,
    trivial_answers=TRIVIAL_ANSWERS,
    extents_of=extents_of,
    with_few_heads=with_few_heads,
    part_of=part_of,
)
