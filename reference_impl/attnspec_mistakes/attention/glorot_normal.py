"""What goes wrong in a Glorot-normal initialisation: the spread, the distribution, the seed."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_mistakes.departures import departure, named_output
from attnspec_mistakes.mistake import Mistake
from attnspec_reference.attention.glorot_normal import glorot_normal

if TYPE_CHECKING:
    from collections.abc import Callable

    from attnspec_mistakes.departures import Computation, Outputs
    from attnspec_reference.precision import Array

OPERATION = "glorot_normal"
TRUNCATED_DEVIATION = 0.87962566103423978
"""Standard deviation of the standard normal distribution that is cut off at -2 and 2."""


def spread(formula: Callable[[int, int], float]) -> Computation:
    """Make an initialisation with another standard deviation."""
    return named_output(departure(glorot_normal, standard_deviation=formula))


def drawn(draw: Callable[[np.random.Generator, tuple[int, int]], Array]) -> Computation:
    """Make an initialisation from another distribution than the standard normal one."""

    def draw_numbers(shape: tuple[int, int], seed: int) -> Array:
        return draw(np.random.default_rng(seed), shape)

    return named_output(departure(glorot_normal, draw_standard_normal=draw_numbers))


def truncated(generator: np.random.Generator, shape: tuple[int, int]) -> Array:
    """Draw again whatever lies more than two standard deviations from 0."""
    numbers = generator.standard_normal(shape)
    while (outside := np.abs(numbers) > 2).any():
        numbers[outside] = generator.standard_normal(int(outside.sum()))
    return numbers


def in_pairs(generator: np.random.Generator, shape: tuple[int, int]) -> Array:
    """Draw as many pairs as fit."""
    return generator.standard_normal(2 * (math.prod(shape) // 2)).reshape(shape)


def transposed(**arguments: Any) -> Outputs:
    """Return (fan_out, fan_in)."""
    return {"output": glorot_normal(**arguments).T}


class OneGenerator:
    """An initialisation that goes on with one random sequence, whatever seed it is given."""

    def __init__(self) -> None:
        self.generator = np.random.default_rng(0)

    def __call__(self, *, fan_in: int, fan_out: int, seed: int) -> Outputs:  # noqa: ARG002 - that is the mistake
        """Draw the next matrix."""
        return {"output": glorot_normal(fan_in=fan_in, fan_out=fan_out, seed=int(self.generator.integers(2**31)))}


class OneGeneratorForZero(OneGenerator):
    """An initialisation that takes a seed of 0 for none."""

    def __call__(self, *, fan_in: int, fan_out: int, seed: int) -> Outputs:
        """Draw the next matrix for the seed 0, and that of the seed for any other."""
        if not seed:
            return super().__call__(fan_in=fan_in, fan_out=fan_out, seed=seed)
        return {"output": glorot_normal(fan_in=fan_in, fan_out=fan_out, seed=seed)}


mistake = partial(Mistake, operation=OPERATION)

MISTAKES: tuple[Mistake, ...] = (
    mistake(
        id="glorot_normal.variance_as_deviation",
        clause="glorot_normal.standard_deviation",
        sentence="The variance was taken for the standard deviation: the root is missing.",
        engineer="2 / (fan_in + fan_out) is passed as the standard deviation.",
        remedy="Draw with the standard deviation sqrt(2 / (fan_in + fan_out)).",
        function=spread(lambda fan_in, fan_out: 2.0 / (fan_in + fan_out)),
    ),
    mistake(
        id="glorot_normal.he_deviation",
        clause="glorot_normal.standard_deviation",
        sentence="The standard deviation was taken from fan_in alone, as He and Kaiming do.",
        engineer="The gain is sqrt(2 / fan_in): Kaiming instead of Xavier.",
        remedy="Draw with the standard deviation sqrt(2 / (fan_in + fan_out)).",
        function=spread(lambda fan_in, _fan_out: math.sqrt(2.0 / fan_in)),
    ),
    mistake(
        id="glorot_normal.one_over_sum",
        clause="glorot_normal.standard_deviation",
        sentence="The factor 2 is missing in the standard deviation.",
        engineer="The standard deviation is sqrt(1 / (fan_in + fan_out)).",
        remedy="Draw with the standard deviation sqrt(2 / (fan_in + fan_out)).",
        function=spread(lambda fan_in, fan_out: math.sqrt(1.0 / (fan_in + fan_out))),
    ),
    mistake(
        id="glorot_normal.uniform",
        clause="glorot_normal.distribution",
        sentence="The numbers are distributed uniformly, with the right standard deviation.",
        engineer="Xavier uniform stands in for Xavier normal.",
        remedy="Draw from the normal distribution.",
        function=drawn(lambda generator, shape: generator.uniform(-math.sqrt(3), math.sqrt(3), shape)),
    ),
    mistake(
        id="glorot_normal.truncated",
        clause="glorot_normal.tails",
        sentence="Numbers beyond two standard deviations were drawn again, which narrows the distribution.",
        engineer="A truncated normal is drawn and its standard deviation is not corrected.",
        remedy="Draw from the whole normal distribution.",
        function=drawn(truncated),
    ),
    mistake(
        id="glorot_normal.truncated_and_stretched",
        clause="glorot_normal.tails",
        sentence="The distribution is cut off at two standard deviations and stretched to the right one.",
        engineer="A truncated normal is drawn and divided by 0.8796, as Keras does.",
        remedy="Draw from the whole normal distribution.",
        function=drawn(lambda generator, shape: truncated(generator, shape) / TRUNCATED_DEVIATION),
    ),
    mistake(
        id="glorot_normal.mean_shifted",
        clause="glorot_normal.mean",
        sentence="The mean of the numbers is not 0.",
        engineer="The standard deviation is passed as the mean, too.",
        remedy="Draw with the mean 0.",
        function=drawn(lambda generator, shape: generator.normal(1.0, 1.0, shape)),
    ),
    mistake(
        id="glorot_normal.only_positive",
        clause="glorot_normal.mean",
        sentence="All numbers are positive.",
        engineer="A uniform draw from [0, 1) stands in for a symmetric one.",
        remedy="Draw from the normal distribution, whose mean is 0.",
        function=drawn(lambda generator, shape: generator.uniform(0.0, math.sqrt(12), shape)),
    ),
    mistake(
        id="glorot_normal.transposed",
        clause="glorot_normal.shape",
        sentence="The matrix has fan_out rows and fan_in columns.",
        engineer="The weight is allocated as (out, in), the linear-layer layout.",
        remedy="Return fan_in rows and fan_out columns.",
        function=transposed,
    ),
    mistake(
        id="glorot_normal.seed_ignored",
        clause="glorot_normal.seed",
        sentence="The seed was ignored: the same seed gave different numbers.",
        engineer="One global generator is advanced; the seed does not reach it.",
        remedy="Start a generator of its own from the seed on every call.",
        function=named_output(glorot_normal),
        begin=OneGenerator,
    ),
    mistake(
        id="glorot_normal.seed_of_zero_ignored",
        clause="glorot_normal.seed",
        sentence="A seed of 0 was taken for none: it gave different numbers.",
        engineer="`if seed:` asks for the truth of a number, and 0 is false.",
        remedy="Start from every seed that is given; only None is none.",
        function=named_output(glorot_normal),
        begin=OneGeneratorForZero,
    ),
    mistake(
        id="glorot_normal.drawn_in_pairs",
        clause="glorot_normal.shape",
        sentence="Numbers were drawn two at a time, and an odd number of elements cannot be had.",
        engineer="Box and Muller gives pairs; the reshape raises where rows times columns is odd.",
        remedy="Draw one more number than there are pairs, and leave it away.",
        function=drawn(in_pairs),
    ),
)
