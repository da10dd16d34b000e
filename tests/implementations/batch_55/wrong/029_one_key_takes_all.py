import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Kind(base.Attention):
    def core(self, a):
        if a.T != 1:
            return super().core(a)
        # a softmax of one number
        a.weights = np.where(a.may, np.exp(a.raw - a.raw), 0).astype(a.work)
        a.logsumexp = a.logits[..., 0]
        a.out = self.weigh(a, a.weights, a.may, a.v)


scaled_dot_product_attention = base.operation(Kind)
