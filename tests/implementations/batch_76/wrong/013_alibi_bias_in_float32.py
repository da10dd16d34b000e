"""The biases of ALiBi are made in float32, whatever the dtype."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import base
import numpy as np

dtypes = base.DTYPES


class Wrong(base.Attention):
    def bias(self, c):
        slopes = c.alibi_slopes.astype(np.float32)[None, :, None, None]
        return (slopes * self.distance(c).astype(np.float32)).astype(np.float64)


scaled_dot_product_attention = base.attention_function(Wrong)
