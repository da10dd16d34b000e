import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Rows(base.Attention):
    def place(self):
        super().place()
        if self.group > 1 and self.Sq > 1:
            row = np.arange(self.group * self.Sq).reshape(self.group, self.Sq)
            query = np.tile(row // self.group, (self.Hkv, 1))
            self.p = self.first()[:, None, None, None] + query[None, :, :, None]


scaled_dot_product_attention = base.bhse(Rows)
