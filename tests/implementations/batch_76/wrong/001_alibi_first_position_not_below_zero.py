"""ALiBi takes a query that stands before the first key to stand at 0."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import base
import numpy as np

dtypes = base.DTYPES


class Wrong(base.Attention):
    def distance(self, c):
        return np.abs(np.maximum(c.p, 0)[:, None, :, None] - np.arange(c.K)).astype(np.float64)


scaled_dot_product_attention = base.attention_function(Wrong, only=("output",))
