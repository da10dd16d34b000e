import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import math
import numpy as np
import base

dtypes = ("float64", "float32", "bfloat16", "float16")

class Mine(base.Attention):
    def score(self):
        super().score()
        if self.query.dtype == np.float16:
            self.scores = self.scores.astype(np.float16).astype(self.w)


scaled_dot_product_attention = base.make(Mine)
