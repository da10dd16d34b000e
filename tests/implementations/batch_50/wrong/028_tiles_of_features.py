import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Mine(base.Attention):
    TILE = 16

    def output(self, s):
        s.o = np.zeros((s.B, s.Hq, s.Sq, s.Ev), s.work)
        for start in range(0, s.E, self.TILE):
            part = slice(start, start + self.TILE)
            s.o[..., part] = base.weigh(s.weights, s.v[..., part], s.may)


scaled_dot_product_attention = base.operation(Mine)
