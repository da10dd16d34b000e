import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Mine(base.Attention):
    def distance(self, s):
        j = np.arange(s.total).astype(s.dtype).astype(s.work)
        p = s.p.astype(s.dtype).astype(s.work)
        return np.abs(p[:, :, None] - j)[:, None]


scaled_dot_product_attention = base.operation(Mine)
