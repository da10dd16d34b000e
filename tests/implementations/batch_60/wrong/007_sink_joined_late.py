import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Kernel(base.Single):
    def largest(self, s):
        return s.logits.max(-1, initial=-np.inf)


scaled_dot_product_attention = base.build(Kernel)
