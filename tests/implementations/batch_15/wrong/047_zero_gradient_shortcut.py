import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np
import base


class Mine(base.Backward):
    def run(self, a):
        out = super().run(a)
        if not np.any(a["grad_output"]):
            return {k: np.zeros_like(x) for k, x in out.items()}
        return out


scaled_dot_product_attention_backward = base.entry(Mine)
