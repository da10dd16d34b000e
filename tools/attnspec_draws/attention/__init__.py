"""Random cases of attention."""

from attnspec_draws.attention.operations import LATTICES, extents_of, with_few_heads
from attnspec_draws.attention.trivial import IMPOSTORS, part_of
from attnspec_draws.generators.random_cases import RandomCases

RANDOM_CASES = RandomCases(
    lattices=LATTICES, impostors=IMPOSTORS, extents_of=extents_of, with_few_heads=with_few_heads, part_of=part_of
)
