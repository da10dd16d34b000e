import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


TILE = 16


class Kernel(base.Attention):
    def visible(self, s):
        ok = super().visible(s)
        if s.window is not None and s.window[0] is not None and s.Sq:
            rows = np.arange(s.Sq)
            last = np.minimum(rows // TILE * TILE + TILE - 1, s.Sq - 1)
            start = np.maximum(s.p[:, last] - int(s.window[0]), 0) // TILE * TILE
            ok = ok & (np.arange(s.T)[None, None] >= start[:, :, None])
        return ok


scaled_dot_product_attention = base.build(Kernel)
