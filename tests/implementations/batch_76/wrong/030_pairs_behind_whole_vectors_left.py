"""Pairs are turned four at a time, and those that are left behind whole vectors are left as they are."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import base
import numpy as np

dtypes = base.DTYPES


class Wrong(base.Rotary):
    lanes = 4

    def turn(self, first, second, cos, sin):
        pairs = first.shape[-1]
        done = np.arange(pairs) < (pairs if pairs < self.lanes else pairs // self.lanes * self.lanes)
        return tuple(np.where(done, new, old) for new, old in zip(super().turn(first, second, cos, sin), (first, second)))


apply_rotary = base.rotary_function(Wrong)
