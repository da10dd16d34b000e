"""Random cases of attention."""

from attnspec.families.attention.drawing import LATTICES, extents_of, with_few_heads
from attnspec.families.attention.impostors import IMPOSTORS, part_of
from attnspec.lattice.random_cases import RandomCases

RANDOM_CASES = RandomCases(
    lattices=LATTICES, impostors=IMPOSTORS, extents_of=extents_of, with_few_heads=with_few_heads, part_of=part_of
)
