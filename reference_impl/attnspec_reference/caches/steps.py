"""Steps: several writes, one after the other, by how many of the new tokens come in each."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike


def cut_into_steps(step_lengths: ArrayLike | None, new: int) -> list[slice]:
    """Give the tokens of each step; without `step_lengths`, all come in one.

    Raises
    ------
    ValueError
        The lengths are not whole numbers from 0 on whose sum is the number of new tokens.
    """
    if step_lengths is None:
        return [slice(0, new)]
    lengths = np.asarray(step_lengths)
    if np.any(lengths < 0) or lengths.sum() != new:
        raise ValueError(f"step_lengths is {lengths.tolist()}; its numbers must make up the {new} new tokens.")
    return [slice(start, end) for start, end in pairwise([0, *np.cumsum(lengths)])]
