import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Mine(base.Attention):
    def distance(self, s):
        if s.Sq == 1:  # a decoding step: the query is the newest token
            return np.abs(s.L[:, None, None] - 1 - np.arange(s.total)).astype(s.work)[:, None]
        return super().distance(s)


scaled_dot_product_attention = base.operation(Mine)
