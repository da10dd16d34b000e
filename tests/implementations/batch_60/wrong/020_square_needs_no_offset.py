import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Kernel(base.Attention):
    def offsets(self, s):
        if s.P == 0 and s.Sq == s.T:
            return np.zeros(s.B, np.int64)
        return super().offsets(s)


scaled_dot_product_attention = base.build(Kernel)
