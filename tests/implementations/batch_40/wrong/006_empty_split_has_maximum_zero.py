import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Mine(base.Split):
    def attend_part(self, s, lo, hi):
        m, l, acc = super().attend_part(s, lo, hi)
        empty = ~s.allowed[..., lo:hi].any(axis=-1)
        return np.where(empty, 0, m), l, acc  # no minus infinity that could make a NaN


scaled_dot_product_attention = base.operation(Mine)
