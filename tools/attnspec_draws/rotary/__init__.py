"""Random cases of rotary positions."""

from attnspec_draws.generators.random_cases import RandomCases
from attnspec_draws.rotary.operations import CASE_GENERATORS
from attnspec_draws.rotary.trivial_rotary import TRIVIAL_ROTARY

RANDOM_CASES = RandomCases(case_generators=CASE_GENERATORS, trivial_answers=TRIVIAL_ROTARY)
