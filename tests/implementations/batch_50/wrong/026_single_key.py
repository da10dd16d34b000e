import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Mine(base.Attention):
    def softmax(self, s):
        super().softmax(s)
        if s.K == 1 and s.sinks is None:  # a softmax of one number is 1
            s.weights = s.may.astype(s.work)


scaled_dot_product_attention = base.operation(Mine)
