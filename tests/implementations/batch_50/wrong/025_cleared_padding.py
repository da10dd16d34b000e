import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Mine(base.Attention):
    narrow = True

    def widen(self, s):
        super().widen(s)
        if s.key_lengths is not None and not np.isfinite(s.v).all():
            v = s.v if s.value_scale is not None else np.require(np.asarray(s.value, s.work), requirements="W")
            for b in range(s.B):
                v[b, :, s.key_lengths[b]:] = 0  # 0 times NaN
            s.v = v


scaled_dot_product_attention = base.operation(Mine)
