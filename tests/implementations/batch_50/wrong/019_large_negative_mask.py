import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Mine(base.Attention):
    def masked(self, s):
        return s.mask if s.bias is None else ~(s.bias <= -1e9)


scaled_dot_product_attention = base.operation(Mine)
