import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")
layout = "bshe"


class Shared(base.Attention):
    def measure(self):
        super().measure()
        if self.Hkv == 1:
            tokens_first = np.ascontiguousarray(self.query.swapaxes(1, 2))
            self.query = tokens_first.reshape(self.B, self.Hq, self.Sq, self.E)

    def results(self):
        if self.Hkv == 1:
            rows = np.ascontiguousarray(self.output).reshape(self.B, self.Sq, self.Hq, self.Ev)
            self.output = rows.swapaxes(1, 2)
        return super().results()


scaled_dot_product_attention = base.bshe(Shared)
