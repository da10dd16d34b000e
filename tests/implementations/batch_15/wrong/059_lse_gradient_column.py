import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np
import base


class Mine(base.Backward):
    def run(self, a):
        g = a["grad_logsumexp"]
        if g is not None and g.ndim == 4 and g.shape[3] == 1:
            a = {**a, "grad_logsumexp": g[..., 0]}
        return super().run(a)


scaled_dot_product_attention_backward = base.entry(Mine)
