import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Kind(base.Attention):
    def widen(self, x, work):
        flat = np.asarray(x).reshape(-1, order="A")  # no copy, whatever the order
        return flat.reshape(x.shape).astype(work)


scaled_dot_product_attention = base.operation(Kind)
