"""The distance of a logarithm below the larger one is clipped at 80 before its exponential is taken."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import base
import numpy as np

dtypes = base.DTYPES


class Wrong(base.Merge):
    def distance(self, log, most):
        return np.maximum(log - most, -80.0)


merge_states = base.merge_function(Wrong)
