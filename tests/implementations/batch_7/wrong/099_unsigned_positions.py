import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import math
import numpy as np
import base


class Mine(base.Attention):
    def place(self):
        super().place()
        if self.window is None and self.alibi_slopes is None:
            self.p = self.p.astype(np.uint32).astype(np.int64)


scaled_dot_product_attention = base.make(Mine)
