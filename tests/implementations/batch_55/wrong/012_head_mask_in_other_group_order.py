import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Kind(base.Attention):
    def mask4(self, a):
        mask = super().mask4(a)
        if a.mask.ndim > 2 and a.mask.shape[-3] == a.Hq and 1 < a.Hkv < a.Hq:
            groups = a.Hq // a.Hkv
            mask = mask.reshape(a.B, groups, a.Hkv, a.Sq, a.T).swapaxes(1, 2)
            mask = mask.reshape(a.B, a.Hq, a.Sq, a.T)
        return mask


scaled_dot_product_attention = base.operation(Kind)
