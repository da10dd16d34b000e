import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Kind(base.Attention):
    def by_window(self, a):
        left, right = self.sides(a)
        swapped = a.Sq == 1 and a.Hkv and a.Hq > a.Hkv and a.causal_alignment == "bottom_right"
        if not swapped or (left is None and right is None):
            return super().by_window(a)
        # (B, 1, Hq, E) as (B, groups, Hkv, E): the row of a head is its number in the group
        groups = a.Hq // a.Hkv
        row = np.arange(a.Hq) % groups
        p = a.L[:, None] - groups + row
        return self.around(a, p[:, :, None, None], left, right)


scaled_dot_product_attention = base.operation(Kind)
