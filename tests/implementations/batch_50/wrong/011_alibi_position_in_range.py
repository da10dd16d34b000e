import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Mine(base.Attention):
    def place(self, s):
        super().place(s)
        s.p_alibi = np.clip(s.p, 0, np.maximum(s.L - 1, 0)[:, None])


scaled_dot_product_attention = base.operation(Mine)
