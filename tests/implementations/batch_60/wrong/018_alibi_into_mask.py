import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Kernel(base.Single):
    def biased(self, s, x):
        m = s.mask
        full = m is not None and m.dtype == s.work and m.shape == x.shape and m.flags.writeable
        if s.slopes is None or not full:
            return super().biased(s, x)
        m -= self.alibi(s)
        return x + m


scaled_dot_product_attention = base.build(Kernel)
