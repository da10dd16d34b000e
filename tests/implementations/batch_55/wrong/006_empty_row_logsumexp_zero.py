import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Kind(base.Tiled):
    def end(self, a, state):
        m, l, acc = state
        nothing = l == 0
        l = np.where(nothing, a.work.type(1), l)
        m = np.where(nothing, a.work.type(0), m)
        return acc / l, (m + np.log(l))[..., 0]


scaled_dot_product_attention = base.operation(Kind)
