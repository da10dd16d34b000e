import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Kernel(base.Attention):
    def visible(self, s):
        w = s.window
        if w is not None and w[0] is not None and w[1] is not None and w[0] + w[1] + 1 >= s.T:
            s.window = None
        ok = super().visible(s)
        s.window = w
        return ok


scaled_dot_product_attention = base.build(Kernel)
