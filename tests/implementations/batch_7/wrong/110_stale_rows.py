import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import math
import numpy as np
import base

ROWS = {}

class Mine(base.Attention):
    def weigh(self):
        super().weigh()
        kept = ROWS.setdefault((self.output.shape, self.output.dtype.str), np.zeros_like(self.output))
        some = self.ok.any(axis=-1)
        kept[some] = self.output[some]
        self.output = kept.copy()


scaled_dot_product_attention = base.make(Mine)
