import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Mine(base.Attention):
    def softmax(self, s):
        super().softmax(s)
        s.lse[s.L == 0] = -np.inf  # nothing to do for sequences without keys


scaled_dot_product_attention = base.operation(Mine)
