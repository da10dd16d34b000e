import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


BLOCK = 8


class Kernel(base.Attention):
    def weigh(self, s):
        if s.Ev <= BLOCK:
            return super().weigh(s)
        full = super().weigh(s)
        output = np.zeros_like(full)
        for a in range(0, s.Ev, BLOCK):
            a = min(a, s.Ev - BLOCK)
            output[..., a : a + BLOCK] += full[..., a : a + BLOCK]
        return output


scaled_dot_product_attention = base.build(Kernel)
