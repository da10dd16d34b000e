import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Kind(base.Tiled):
    def end(self, a, state):
        out, lse = super().end(a, state)
        block = 1 << (a.E - 1).bit_length()
        out[..., block:] = 0
        return out, lse


scaled_dot_product_attention = base.operation(Kind)
