"""What is drawn: a step that goes wrong, and its number."""

import math
from typing import NamedTuple

import numpy as np
from drawn.attention import Steps


class Fault(NamedTuple):
    """A step that goes wrong; the clauses are words after ``sdpa.``."""

    name: str
    parameter: float | None
    clauses: str
    steps: Steps
    equivalent: tuple[tuple[str, float | None], ...] = ()


def between(rng: np.random.Generator, low: float, high: float) -> float:
    """Draw a number of any magnitude between two."""
    return math.exp(rng.uniform(math.log(low), math.log(high)))


def far_factor(rng: np.random.Generator) -> float:
    """Draw a factor that is far from 1."""
    return math.exp(rng.choice([-1, 1]) * rng.uniform(0.2, 1.2))


def shift(rng: np.random.Generator, most: int = 3) -> int:
    """Draw a whole number from -3 on that is not 0."""
    number = int(rng.integers(-3, most))
    return number + (number >= 0)
