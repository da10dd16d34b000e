import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Mine(base.Attention):
    def total(self, s, e, m):
        if s.Sq != 1 or s.out not in base.HALF:
            return super().total(s, e, m)
        t = np.zeros(e.shape[:-1] + (1,), s.out)
        for j in range(s.K):
            t = (t.astype(np.float32) + e[..., j:j + 1].astype(np.float32)).astype(s.out)
        if s.sinks is not None:
            t = (t.astype(np.float32) + np.exp(s.sinks[None, :, None, None] - m)).astype(s.out)
        return t.astype(s.work)


scaled_dot_product_attention = base.operation(Mine)
