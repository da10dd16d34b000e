import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np


class Kernel(base.Attention):
    def positions(self):
        p, j = super().positions()
        return tuple(x.astype(self.results).astype(self.compute) for x in (p, j))


dtypes = base.DTYPES
scaled_dot_product_attention = base.dense(Kernel)
