"""Under longrope the attention factor is 1 for texts up to the original length."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import base
import numpy as np

dtypes = base.DTYPES


class Wrong(base.Frequencies):
    def longrope_attention(self, r):
        return super().longrope_attention(r) if self.longrope_is_long(r) else 1.0


rotary_frequencies = base.frequencies_function(Wrong)
