import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = base.DTYPES


class Decode(base.Sdpa):
    """One new query that stands at the last key: a window is a slice off the end of the cache."""

    def by_window(self, c, p, j):
        left, right = c.window
        if c.Sq == 1 and c.causal_alignment == "bottom_right" and left is not None:
            allowed = np.zeros((c.B, 1, 1, c.K), bool)
            allowed[..., max(c.K - 1 - int(left), 0):] = True
            return allowed
        return super().by_window(c, p, j)


scaled_dot_product_attention = base.operation(Decode)
