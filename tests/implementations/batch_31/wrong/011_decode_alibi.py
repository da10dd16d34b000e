import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np


class Kernel(base.Attention):
    def distances(self):
        if self.Sq == 1:  # decoding: the query is the newest token
            return np.abs(self.L[:, None, None, None] - self.N[:, None, None, None] - np.arange(self.K)).astype(self.compute)
        return super().distances()


dtypes = base.DTYPES
scaled_dot_product_attention = base.dense(Kernel)
