"""Without truncate the ends of the range are neither rounded nor held between 0 and R - 1."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import base
import numpy as np

dtypes = base.DTYPES


class Wrong(base.Frequencies):
    def yarn_range(self, r):
        if r.truncate:
            return super().yarn_range(r)
        turns = np.array([r.beta_fast, r.beta_slow], dtype=np.float64)
        low, high = r.width * np.log(r.original_length / (2 * np.pi * turns)) / (2 * np.log(r.theta))
        return (low, high + 0.001) if low == high else (low, high)


rotary_frequencies = base.frequencies_function(Wrong)
