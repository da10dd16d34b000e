import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Mine(base.Attention):
    narrow = True

    def top(self, s):
        m = super().top(s)
        if s.Sq == 1 and s.G > 1:  # the queries of a group are the rows of one tile
            rows = m.reshape(s.B, s.Hkv, s.G)
            m = np.broadcast_to(np.fmax.reduce(rows, axis=2)[..., None], rows.shape).reshape(m.shape)
        return m


scaled_dot_product_attention = base.operation(Mine)
