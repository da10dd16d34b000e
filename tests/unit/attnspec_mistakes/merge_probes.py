"""Parts of attention on which mistakes in merging show and controls must not."""

import numpy as np


def draw(*shape, seed):
    """Numbers with few digits, so that they are exact in float16, too."""
    return np.round(np.random.default_rng(seed).standard_normal(shape) * 16) / 16


def parts(shape=(2, 3, 4, 5), **more):
    return {
        "output_a": draw(*shape, seed=1),
        "logsumexp_a": draw(*shape[:3], seed=2),
        "output_b": draw(*shape, seed=3),
        "logsumexp_b": draw(*shape[:3], seed=4),
        **more,
    }


def with_empty_rows():
    """Rows with keys in both parts, one and neither, where a part without keys holds NaN or a number."""
    given = parts()
    given["logsumexp_a"][0, 1, :2] = given["logsumexp_b"][0, 1, 1:3] = -np.inf
    given["logsumexp_a"][1, 2, 3] = given["logsumexp_b"][1, 2, 3] = -np.inf
    given["output_a"][0, 1, 0, ::2] = given["output_b"][0, 1, 2, ::2] = np.nan
    return given


def with_nan():
    """NaN in an output of the lighter part."""
    given = parts(logsumexp_a=np.full((2, 3, 4), -3.0), logsumexp_b=np.full((2, 3, 4), 1.5))
    given["output_a"][0, 1, 2, 3] = np.nan
    return given


def at(logarithm_a, logarithm_b):
    """Logarithms of every row."""
    rows = (2, 3, 4)
    return parts(logsumexp_a=np.full(rows, logarithm_a), logsumexp_b=np.full(rows, logarithm_b))


PROBES = (
    parts(),
    parts((3, 3, 2, 2)),
    parts((2, 3, 3, 4)),
    parts((1, 2, 17, 33)),
    with_empty_rows(),
    with_nan(),
    at(0.0, 1.0),
    at(20.0, 0.0),
    at(-2000.0, -2001.0),
    at(900.0, -900.0),
    at(-900.0, 900.0),
    at(2.0**60, 2.0**60),
    {**parts(), "logsumexp_a": draw(2, 3, 4, seed=5) + 4 / 8192},
    parts(**{name: draw(2, 3, 4, seed=6) - [0, 900, 1800, 0] for name in ("logsumexp_a", "logsumexp_b")}),
)
