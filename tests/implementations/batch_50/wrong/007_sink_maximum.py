import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Mine(base.Attention):
    narrow = True

    def top(self, s):
        m = super().top(s)
        return m if s.sinks is None else np.maximum(m, 0)


scaled_dot_product_attention = base.operation(Mine)
