import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Kernel(base.Attention):
    def weigh(self, s):
        barred = (~s.ok).any(2)
        v = np.where(barred[..., None] & ~np.isfinite(s.v), 0, s.v)
        return base.weighed(s.weights, v, s.ok)


scaled_dot_product_attention = base.build(Kernel)
