import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


TILE = 4


class Kernel(base.Attention):
    def allowed(self, s):
        ok = super().allowed(s)
        live = ok[:, :, ::TILE].any(-1)
        return ok & np.repeat(live, TILE, 2)[:, :, : s.Sq, None]


scaled_dot_product_attention = base.build(Kernel)
