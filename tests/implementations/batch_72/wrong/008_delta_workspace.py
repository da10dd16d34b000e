import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


workspaces = {}


class Mine(base.Backward):
    def results(self):
        found = super().results()
        delta = found["delta"]
        space = workspaces.setdefault((delta.shape, delta.dtype), np.empty_like(delta))
        space[...] = delta
        found["delta"] = space
        return found


scaled_dot_product_attention_backward = base.bind(Mine)
