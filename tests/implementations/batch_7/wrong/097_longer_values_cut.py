import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import math
import numpy as np
import base


class Mine(base.Attention):
    def check(self):
        if self.value.ndim == 4 and self.key.ndim == 4 and self.value.shape[2] > self.key.shape[2]:
            self.value = self.value[:, :, :self.key.shape[2]]
        super().check()


scaled_dot_product_attention = base.make(Mine, "output", "weights")
