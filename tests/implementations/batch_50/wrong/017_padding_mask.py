import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Mine(base.Attention):
    def masked(self, s):
        if s.mask.dtype == bool and s.mask.ndim == 4 and s.mask.shape[1] == s.mask.shape[2] == 1:
            # a padding mask: count the tokens and go the way of lengths
            return np.arange(s.K) < s.mask.sum(axis=-1, keepdims=True)
        return super().masked(s)


scaled_dot_product_attention = base.operation(Mine)
