import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np
import base


class Mine(base.Backward):
    def answer(self):
        out = super().answer()
        out["grad_scores"] = (self.s * self.ds).astype(self.query.dtype)
        return out


scaled_dot_product_attention_backward = base.entry(Mine)
