import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Mine(base.Backward):
    stored = True

    def delta_of_output(self):
        width = self.q.shape[-1]
        return (self.do[..., :width] * base.widen(self.output, self.work)[..., :width]).sum(axis=-1)


scaled_dot_product_attention_backward = base.bind(Mine)
