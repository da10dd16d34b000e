"""Random cases of rotary positions."""

from attnspec_draws.generators.random_cases import RandomCases
from attnspec_draws.rotary.operations import CASE_GENERATORS
from attnspec_draws.rotary.trivial import TRIVIAL_ANSWERS

RANDOM_CASES = RandomCases(case_generators=CASE_GENERATORS, trivial_answers=TRIVIAL_ANSWERS)
