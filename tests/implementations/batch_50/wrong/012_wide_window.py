import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Mine(base.Attention):
    def positional(self, s):
        window = s.window
        if window is not None:  # a side that reaches over all keys needs no test
            s.window = [None if side is None or side >= s.K else side for side in window]
        may = super().positional(s)
        s.window = window
        return may


scaled_dot_product_attention = base.operation(Mine)
