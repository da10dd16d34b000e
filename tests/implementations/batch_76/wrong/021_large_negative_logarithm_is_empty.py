"""A logarithm below -1e30 is taken for that of a part without keys."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import base
import numpy as np

dtypes = base.DTYPES


class Wrong(base.Merge):
    def empty(self, log):
        return log < -1e30


merge_states = base.merge_function(Wrong)
