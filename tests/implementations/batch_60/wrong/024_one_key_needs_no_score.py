import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Kernel(base.Attention):
    def softmax_of(self, s):
        super().softmax_of(s)
        if s.T == 1 and s.sink is None:
            s.weights = s.ok.astype(s.work)


scaled_dot_product_attention = base.build(Kernel)
