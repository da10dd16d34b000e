import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Mine(base.Backward):
    def gradient_of_logits(self):
        if self.Sk == 1 and self.sink is None:
            return np.zeros(self.full, self.work)  # the weight is 1, whatever the score
        return super().gradient_of_logits()


scaled_dot_product_attention_backward = base.bind(Mine)
