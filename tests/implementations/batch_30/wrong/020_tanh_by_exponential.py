import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = base.DTYPES


class Capped(base.Sdpa):
    """tanh(x) = 1 - 2 / (exp(2x) + 1), which does not overflow."""

    def cap(self, c, scores):
        if not c.softcap:
            return scores
        cap = c.acc.type(c.softcap)
        one, two = c.acc.type(1), c.acc.type(2)
        return cap * (one - two / (np.exp(two * (scores / cap)) + one))


scaled_dot_product_attention = base.operation(Capped)
