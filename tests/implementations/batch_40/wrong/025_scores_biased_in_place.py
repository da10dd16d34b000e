import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Mine(base.Attention):
    def logit(self, s):
        logits = self.capped(s)
        if s.slope is not None:
            logits -= self.bias(s)
        if s.mask is not None and s.mask.dtype != bool:
            logits += s.mask.astype(s.work)
        s.logits = np.where(s.allowed, logits, s.work.type(-np.inf))


scaled_dot_product_attention = base.operation(Mine)
