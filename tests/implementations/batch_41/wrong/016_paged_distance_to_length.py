import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")
layout = "paged"


class One(base.Attention):
    def distance(self):
        if self.Sq == 1 and self.causal_alignment == "bottom_right":
            return self.L[:, None, None, None] - self.j
        return super().distance()


class Distance(base.Paged):
    kind = One


scaled_dot_product_attention = base.paged(Distance)
