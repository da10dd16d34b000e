"""Random cases of rotary positions."""

from attnspec.families.rotary.drawing import LATTICES
from attnspec.families.rotary.impostors import IMPOSTORS
from attnspec.lattice.random_cases import RandomCases

RANDOM_CASES = RandomCases(lattices=LATTICES, impostors=IMPOSTORS)
