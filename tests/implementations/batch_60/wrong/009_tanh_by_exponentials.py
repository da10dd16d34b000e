import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Kernel(base.Single):
    def cap(self, s, x):
        c = s.work.type(s.softcap)
        t = np.exp(2 * (x / c))
        exact = np.tanh(x / c)
        return c * np.where(np.isinf(t), (t - 1) / (t + 1), exact)


scaled_dot_product_attention = base.build(Kernel)
