import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Mine(base.Backward):
    def gradient_of_sinks(self):
        share = np.exp(self.sink - self.lse)
        return (share * ((0 if self.glse is None else self.glse) - self.delta)).sum(axis=(0, 2))


scaled_dot_product_attention_backward = base.bind(Mine)
