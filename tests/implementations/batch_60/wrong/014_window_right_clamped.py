import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Kernel(base.Attention):
    def visible(self, s):
        if s.window is None or s.window[1] is None:
            return super().visible(s)
        p, j = s.p[:, :, None], np.arange(s.T)[None, None]
        ok = j <= np.maximum(p + int(s.window[1]), 0)
        if s.window[0] is not None:
            ok = ok & (j >= np.maximum(p - int(s.window[0]), 0))
        if s.is_causal:
            ok = ok & (j <= p)
        return ok


scaled_dot_product_attention = base.build(Kernel)
