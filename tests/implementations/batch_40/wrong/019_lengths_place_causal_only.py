import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Mine(base.Attention):
    def offsets(self, s):
        if s.causal_alignment == "bottom_right" and not s.is_causal:
            return np.full(s.B, s.total - s.Sq)
        return super().offsets(s)


scaled_dot_product_attention = base.operation(Mine)
