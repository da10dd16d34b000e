import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import math
import numpy as np
import base


class Mine(base.Attention):
    def check(self):
        v = self.value
        if v.ndim == 4 and self.query.ndim == 4 and v.shape[1] and self.query.shape[1] % v.shape[1] == 0 and self.key.ndim == 4 and self.past_key is None and v.shape[1] != self.key.shape[1]:
            self.value = np.repeat(v, self.query.shape[1] // v.shape[1], axis=1)
            self.key = np.repeat(self.key, self.query.shape[1] // self.key.shape[1], axis=1)
        super().check()


scaled_dot_product_attention = base.make(Mine)
