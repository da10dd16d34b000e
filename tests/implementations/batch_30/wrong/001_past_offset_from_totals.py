import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = base.DTYPES


class Cached(base.Sdpa):
    """A cache holds what stood before: the new queries are the last ones of all keys."""

    def offsets(self, c):
        if c.P and c.causal_alignment == "top_left":
            return np.full(c.B, c.K - c.Sq, np.int64)
        return super().offsets(c)


scaled_dot_product_attention = base.operation(Cached)
