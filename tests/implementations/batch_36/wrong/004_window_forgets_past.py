import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Variant(base.Attention):
    def window_allows(self, a, p):
        if a.P and not a.is_causal and a.causal_alignment == "bottom_right":
            p = np.broadcast_to(a.i + (a.Sk - a.Sq), p.shape)
        return super().window_allows(a, p)


scaled_dot_product_attention = base.operation(Variant)
