import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import math
import numpy as np
import base


class Mine(base.Attention):
    def place(self):
        super().place()
        self.p = self.p.astype(np.int16).astype(np.int64)


scaled_dot_product_attention = base.make(Mine)
