import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np
from base import Attention, make

dtypes = ("float64", "float32")


class Steps(Attention):
    def dots(self, q, k, s):
        if s.Sq == 1 and s.E > 4:
            whole = s.E // 4 * 4
            q, k = q[..., :whole], k[..., :whole]
        return super().dots(q, k, s)


scaled_dot_product_attention = make(Steps())
