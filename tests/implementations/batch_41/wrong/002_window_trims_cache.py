import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Trimmed(base.Attention):
    def by_length(self):
        allowed = super().by_length()
        if self.P and self.window is not None and self.window[0] is not None:
            allowed = allowed & (self.j >= self.K - (self.window[0] + 1))
        return allowed


scaled_dot_product_attention = base.bhse(Trimmed)
