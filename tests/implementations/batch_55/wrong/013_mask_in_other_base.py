import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


LOG2E = 1.4426950408889634


class Kind(base.Attention):
    def core(self, a):
        # powers of two: everything that meets the maximum is in units of log 2
        in_bits = self.add_mask(a, a.biased * a.work.type(LOG2E))
        a.logits_of_softmax = np.where(a.may, in_bits / a.work.type(LOG2E), -np.inf).astype(a.work)
        shown, a.logits = a.logits, a.logits_of_softmax
        super().core(a)
        a.logits = shown


scaled_dot_product_attention = base.operation(Kind)
