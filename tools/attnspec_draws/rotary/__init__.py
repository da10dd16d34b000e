"""Random cases of rotary positions."""

from attnspec_draws.generators.random_cases import RandomCases
from attnspec_draws.rotary.operations import LATTICES
from attnspec_draws.rotary.trivial import IMPOSTORS

RANDOM_CASES = RandomCases(lattices=LATTICES, impostors=IMPOSTORS)
