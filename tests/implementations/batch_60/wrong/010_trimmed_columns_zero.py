import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Kernel(base.Attention):
    def finish(self, s, out):
        if s.key_lengths is not None:
            most = int(s.L.max(initial=0))
            out["scores"][..., most:] = 0
            out["logits"][..., most:] = 0
        return out


scaled_dot_product_attention = base.build(Kernel)
