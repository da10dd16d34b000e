import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Kind(base.Attention):
    def by_window(self, a):
        left, right = self.sides(a)
        if a.Sq == 1 and a.causal_alignment == "bottom_right" and left is not None:
            # decoding: the cache is cut to the newest left + 1 tokens
            recent = (np.arange(a.T) >= a.T - 1 - left)[None, None, None, :]
            return recent & self.around(a, a.p[:, None, :, None], None, right)
        return super().by_window(a)


scaled_dot_product_attention = base.operation(Kind)
