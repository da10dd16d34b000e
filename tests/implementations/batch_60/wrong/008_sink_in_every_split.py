import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


SPLIT = 16


class Kernel(base.Attention):
    def denominator(self, s):
        total = s.e.sum(-1)
        if s.sink is not None:
            total = total + max(1, -(-s.T // SPLIT)) * np.exp(s.sink[None, :, None] - s.m)
        return total


scaled_dot_product_attention = base.build(Kernel)
