import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Kernel(base.Attention):
    def lengths(self, s):
        L, N = super().lengths(s)
        if s.key_lengths is None and s.query_lengths is not None and s.Sq == s.Sk:
            L = N  # self-attention: one padding for both
        return L, N


scaled_dot_product_attention = base.build(Kernel)
