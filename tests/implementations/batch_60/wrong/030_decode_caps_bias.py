import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Kernel(base.Attention):
    def logits(self, s):
        if s.Sq != 1 or s.slopes is None or not s.softcap:
            return super().logits(s)
        x = self.capped(s, s.scores - self.alibi(s))
        if s.mask is not None and s.mask.dtype != bool:
            x = x + s.mask.astype(s.work)
        return x


scaled_dot_product_attention = base.build(Kernel)
